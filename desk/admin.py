"""What the admin's autodiscovery looks for; the lists and pages register themselves."""

from desk import companies, people, providers, vendor_pages, views

__all__ = ["companies", "people", "providers", "vendor_pages", "views"]
