"""What the admin's autodiscovery looks for; the lists and pages register themselves."""

from operator_admin import views
from operator_admin.incidents import views as incident_views
from operator_admin.model_pages import (
    billing,
    companies,
    identity_servers,
    links,
    messages,
    people,
)
from operator_admin.vendors import account_admin, setup_pages

__all__ = [
    "account_admin",
    "billing",
    "companies",
    "identity_servers",
    "incident_views",
    "links",
    "messages",
    "people",
    "setup_pages",
    "views",
]
