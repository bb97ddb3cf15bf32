"""A message centre that speaks SMPP 3.4."""
