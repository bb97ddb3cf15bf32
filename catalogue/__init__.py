"""What the whole product names: errors, channels, ids, options, number formats."""
