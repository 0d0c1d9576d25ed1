"""What a temporal graph is: columns of facts, dates and their precision, and the matrices of the paper."""
