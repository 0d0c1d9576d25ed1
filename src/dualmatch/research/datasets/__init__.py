"""Public datasets: where they come from, and a folder in which they are kept once fetched."""
