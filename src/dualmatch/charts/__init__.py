"""Pieces of HTML and SVG that report and review share."""
