"""Orders of tokens, their payments and invoices."""
