"""Declarations of the cabinet, which the packages below it read."""

from django.utils.translation import gettext_lazy as _

from accounts import audit
from cabinet import search

search.register(search.PAGES, *search.SOURCES)
audit.declare({"audit.exported": _("downloaded the audit log")}, has_fields=True)
audit.FIELD_LABELS |= {
    "person": _("Who"),
    "section": _("Section of settings"),
    "kind": _("Kind"),
    "date_from": _("From"),
    "date_to": _("To"),
}
