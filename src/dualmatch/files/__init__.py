"""Files of any content: atomic writes, locks, fingerprints, npz, compressed streams. Knows nothing of graphs."""
