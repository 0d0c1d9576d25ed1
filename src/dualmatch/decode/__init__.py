"""From similarities to an alignment: Sinkhorn, graph matching, 1-to-1 pairs."""
