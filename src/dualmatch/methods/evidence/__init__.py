"""Method evidence: rounds of search and belief propagation, training-free."""
