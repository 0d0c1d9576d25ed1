"""A run and what it leaves on disk: options, record, companion, stages, outputs."""
