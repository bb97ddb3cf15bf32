"""Declarations of the cabinet, which the packages below it read."""

from functools import partial

from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.jobs import FILES
from accounts.models import CsvExport
from accounts.purges import PURGERS, purge_exports
from cabinet import csv_exports, search
from cabinet.audit_log import AuditCsv

PURGERS.append(partial(purge_exports, CsvExport))
FILES.add(csv_exports.make_next)
csv_exports.register(AuditCsv())
search.register(search.PAGES, *search.SOURCES)
audit.declare({"audit.exported": _("downloaded the audit log")}, has_fields=True)
audit.FIELD_LABELS |= {
    "person": _("Who"),
    "section": _("Section of settings"),
    "kind": _("Kind"),
    "date_from": _("From"),
    "date_to": _("To"),
}
