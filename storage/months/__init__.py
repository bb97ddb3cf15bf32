"""Tables partitioned by month: made ahead, made for the past, filled in bulk, taken out."""
