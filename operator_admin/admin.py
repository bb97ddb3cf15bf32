"""Imports the modules that register lists and pages, for the admin's autodiscovery."""

from operator_admin import views  # noqa: F401
from operator_admin.incidents import views as incident_views  # noqa: F401
from operator_admin.model_pages import (  # noqa: F401
    billing,
    blocked_phones,
    companies,
    links,
    messages,
    people,
)
from operator_admin.vendors import account_admin, setup_pages  # noqa: F401
