"""The report: input, links and how far to trust them, on one page."""
