"""Files and data frames to graphs."""
