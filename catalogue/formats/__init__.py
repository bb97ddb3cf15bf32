"""The default date formats of templates and Django's admin."""
