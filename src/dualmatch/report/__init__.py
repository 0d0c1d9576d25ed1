"""The report: what went in, what came out and whether it can be trusted, on one page."""
