"""Why two entities are linked, or why not."""
