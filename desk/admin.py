"""What the admin's autodiscovery looks for; the lists and pages register themselves."""

from desk import companies, people, providers, views

__all__ = ["companies", "people", "providers", "views"]
