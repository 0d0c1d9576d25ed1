"""How graphs come in and links go out."""
