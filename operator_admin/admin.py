"""What the admin's autodiscovery looks for; the lists and pages register themselves."""

from operator_admin import companies_admin, people_admin, views
from operator_admin.incidents import views as incident_views
from operator_admin.vendors import account_admin, setup_pages

__all__ = [
    "account_admin",
    "companies_admin",
    "incident_views",
    "people_admin",
    "setup_pages",
    "views",
]
