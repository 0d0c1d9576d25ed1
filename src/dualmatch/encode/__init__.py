"""Channels: graphs and seeds in, similarity out."""
