"""Short links made of a CSV file: read, checked, previewed, made in the background."""
