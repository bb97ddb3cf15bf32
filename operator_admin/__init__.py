"""The operator's admin: Django's `AdminSite` with a second factor, its pages, and metrics."""
