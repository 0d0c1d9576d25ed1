"""What shared facts say about a pair: ties, how well two facts agree, and which pairs support each other."""
