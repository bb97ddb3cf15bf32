"""Declarations of personal data, which the packages below them read."""

from functools import partial

from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.jobs import FILES
from accounts.purges import PURGERS, purge_exports
from persons import company_export
from persons.models import CompanyExport

PURGERS.append(partial(purge_exports, CompanyExport))
FILES.add(company_export.make_next)
audit.declare(
    {
        "company.deleted": _("deleted the company"),
        "company.erased": _("finished erasing the company's data about recipients"),
        "company.exported": _("exported the company's data"),
        "company.export_downloaded": _("downloaded the company's data"),
        "person.exported": _("exported a person's data"),
        "person.erased": _("erased a person's data"),
    }
)
