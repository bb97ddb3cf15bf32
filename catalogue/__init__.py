"""The names shared by the whole product: errors, channels, ids, options, number formats."""
