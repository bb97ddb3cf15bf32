"""The operator's admin: Django's `AdminSite` with a second factor, its own pages, and metrics.

Each package registers its own models in its `admin` module, on `accounts.model_admin`'s classes.
"""
