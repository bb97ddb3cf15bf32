"""The preview page at `<slug>+`: describes the link, and has a form to report it.

A report is for the operator; nothing about the visitor is stored.
"""

from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from links.follow import responses, visitor_forms
from links.follow.cached_row import LinkTarget
from links.follow.responses import Visit, VisitorResponse, error_page
from links.models import Link, Report
from parsing.form_fields import LineField, TextField
from parsing.hosts import unicode_host
from storage.sessions import pooled_connection

REPORT_LIMIT = (5, 3600)  # per visitor: (count, seconds)
MAX_PENDING_PER_LINK = 20  # also without Redis; more reports would add nothing for the operator


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


def mark_handled(reports: QuerySet[Report]) -> int:
    return reports.filter(handled_at=None).update(handled_at=Now())


@transaction.atomic
def submit(*, link_id: UUID, reason: str, text: str) -> None:
    Link.objects.select_for_update(no_key=True).get(pk=link_id)  # serialises parallel reports
    if Report.objects.filter(link_id=link_id, handled_at=None).count() < MAX_PENDING_PER_LINK:
        Report.objects.create(link_id=link_id, reason=reason, words=text)


POLICY = f"; form-action 'self'{responses.NO_FRAMING}"
OK = "200 OK"
BAD_REQUEST = "400 Bad Request"
FORBIDDEN = "403 Forbidden"


def respond(outcome: LinkTarget, visit: Visit) -> VisitorResponse:
    with pooled_connection(), translation.override(visit.language):
        rows = Link.objects.select_related("company").filter(pk=UUID(outcome.link_id))
        link = rows.first()
        if link is None or not link.is_live or link.used_at:
            return error_page(outcome.without_target(), visit)
        page_of = _report if visit.method == "POST" else _show
        return page_of(link, outcome, visit)


def _report(link: Link, target: LinkTarget, visit: Visit) -> VisitorResponse:
    posted = visitor_forms.posted_form(visit.environ)
    form = ReportForm(posted)
    if not form.is_valid():
        return _show(link, target, visit, form, BAD_REQUEST)
    if not visitor_forms.is_nonce_valid(target.link_id, posted.get("nonce")):
        return _show(link, target, visit, form, FORBIDDEN)
    if not form.is_by_bot:
        if wait := responses.count_or_wait(visit, "report", REPORT_LIMIT):
            return error_page(responses.TOO_MANY_REQUESTS, visit, ("Retry-After", str(wait)))
        fields = form.cleaned_data
        submit(link_id=link.pk, reason=fields["reason"], text=fields["words"])
    return responses.html_page(OK, "links/thanks.html", {}, visit, POLICY)


def _show(
    link: Link, target: LinkTarget, visit: Visit, form: ReportForm | None = None, status: str = OK
) -> VisitorResponse:
    context = {
        "link": link,
        "host": unicode_host(urlsplit(target.url).hostname or ""),
        # The URL of a one-time link may itself be the secret.
        "target": "" if target.is_once else target.url,
        "form": form or ReportForm(),
        "nonce": visitor_forms.issue_nonce(target.link_id),
    }
    return responses.html_page(status, "links/about.html", context, visit, POLICY)
