"""The pages for people: phones and faults."""
