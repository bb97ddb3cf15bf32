"""Names shared by the whole product: errors, channels, ids, options, languages, date formats."""
