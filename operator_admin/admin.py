"""What the admin's autodiscovery looks for; the lists and pages register themselves."""

from operator_admin import companies_admin, people_admin, persons_page, views
from operator_admin.alerts import page
from operator_admin.attention import page as attention_page
from operator_admin.incidents import pages as incident_pages
from operator_admin.vendors import account_admin, setup_pages

__all__ = [
    "account_admin",
    "attention_page",
    "companies_admin",
    "incident_pages",
    "page",
    "people_admin",
    "persons_page",
    "setup_pages",
    "views",
]
