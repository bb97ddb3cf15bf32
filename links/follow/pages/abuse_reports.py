"""Visitors' reports of harmful links, for the operator; nothing about the visitor is stored."""

from uuid import UUID

from django import forms
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.api import atomic_limits
from accounts.api.atomic_limits import Window
from accounts.client_ip import client_network
from config.input.form_fields import LineField, TextField
from links.models import Link, Report

REPORT_LIMIT = (5, 3600)  # by one visitor: (count, seconds)
MAX_PENDING_PER_LINK = 20  # more would tell the operator nothing new


class ReportForm(forms.Form):
    reason = forms.ChoiceField(
        label=_("What is wrong with it?"), choices=Report.Reason.choices, widget=forms.RadioSelect
    )
    words = TextField(
        label=_("In your own words (optional)"),
        max_length=500,
        required=False,
        widget=forms.Textarea({"rows": 3}),
    )
    website = LineField(required=False)  # a honeypot that people do not see

    @property
    def is_by_bot(self) -> bool:
        return bool(self.cleaned_data["website"])


def seconds_to_wait(ip: str) -> int:
    """Seconds until this visitor may report again; 0 counts the report.

    MAX_PENDING_PER_LINK limits them without Redis, too.
    """
    visitor = client_network(ip)
    if not visitor:
        return 0
    return atomic_limits.seconds_over(
        Window(f"report:{atomic_limits.hashed(visitor)}", *REPORT_LIMIT)
    )


def count_pending() -> int:
    return Report.objects.filter(handled_at=None).count()


def mark_handled(reports: QuerySet[Report]) -> int:
    return reports.filter(handled_at=None).update(handled_at=Now())


@transaction.atomic
def submit(*, link_id: UUID, reason: str, words: str) -> None:
    Link.objects.select_for_update(no_key=True).get(pk=link_id)  # parallel reports wait here
    if Report.objects.filter(link_id=link_id, handled_at=None).count() < MAX_PENDING_PER_LINK:
        Report.objects.create(link_id=link_id, reason=reason, words=words)
