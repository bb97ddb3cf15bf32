"""The date formats where a template or Django's admin names none of its own."""
