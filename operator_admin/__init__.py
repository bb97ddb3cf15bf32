"""The operator's admin: an `AdminSite` behind a second factor, its pages, and metrics."""
