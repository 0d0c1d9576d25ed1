"""RDF to facts with times."""
