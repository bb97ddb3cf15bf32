"""Names that people read: of companies, brands and devices."""
