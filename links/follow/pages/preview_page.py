"""The preview page at `<slug>+`: it describes the link, and has a form to report it."""

from urllib.parse import urlsplit
from uuid import UUID

from django.utils import translation

from accounts.client_ip import client_ip
from config.input.hosts import unicode_host
from config.storage.pooled_connection import pooled_connection
from links.follow.cached_row import LinkTarget
from links.follow.pages import abuse_reports, form_nonces
from links.follow.pages.abuse_reports import ReportForm
from links.follow.pages.visitor_pages import (
    NO_FRAMING,
    TOO_MANY_REQUESTS,
    Visit,
    VisitorResponse,
    error_page,
    html_page,
)
from links.models import Link

POLICY = f"; form-action 'self'{NO_FRAMING}"
OK, BAD_REQUEST, FORBIDDEN = "200 OK", "400 Bad Request", "403 Forbidden"


def respond(outcome: LinkTarget, visit: Visit) -> VisitorResponse:
    """To GET, HEAD or POST."""
    with pooled_connection(), translation.override(visit.language):
        found = Link.objects.select_related("company").filter(pk=UUID(outcome.link_id))
        link = found.first()
        if link is None or not link.is_live or link.used_at:
            return error_page(outcome.gone(), visit)
        answer_of = _report if visit.method == "POST" else _show
        return answer_of(link, outcome, visit)


def _report(link: Link, found: LinkTarget, visit: Visit) -> VisitorResponse:
    posted = form_nonces.posted_form(visit.environ)
    form = ReportForm(posted)
    if not form.is_valid():
        return _show(link, found, visit, form, BAD_REQUEST)
    if not form_nonces.is_valid(found.link_id, posted.get("nonce")):
        return _show(link, found, visit, form, FORBIDDEN)
    if not form.is_by_bot:
        if wait := abuse_reports.seconds_to_wait(client_ip(visit.environ)):
            return error_page(TOO_MANY_REQUESTS, visit, ("Retry-After", str(wait)))
        words = form.cleaned_data
        abuse_reports.submit(link_id=link.pk, reason=words["reason"], words=words["words"])
    return html_page(OK, "links/thanks.html", {}, visit, POLICY)


def _show(
    link: Link, found: LinkTarget, visit: Visit, form: ReportForm | None = None, status: str = OK
) -> VisitorResponse:
    context = {
        "link": link,
        "host": unicode_host(urlsplit(found.url).hostname or ""),
        # The URL of a one-time link may itself be the secret.
        "target": "" if found.is_once else found.url,
        "form": form or ReportForm(),
        "nonce": form_nonces.issue(found.link_id),
    }
    return html_page(status, "links/about.html", context, visit, POLICY)
