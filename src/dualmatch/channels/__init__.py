"""Graphs (and seeds) in, similarity or evidence out: one channel a module or folder."""
