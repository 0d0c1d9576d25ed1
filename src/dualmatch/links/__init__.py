"""Alignments to files of links, and back."""
