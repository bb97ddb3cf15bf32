"""The page behind `<slug>+`: what a link is, before anybody follows it, and a form to report it."""

from uuid import UUID

from django.utils import translation

from accounts.client_ip import client_ip
from config.borrowed_connection import lent_connection
from links.follow import abuse_reports, form_nonces
from links.follow.abuse_reports import ReportForm
from links.follow.cached_row import Dead, Expired, Found, Outcome
from links.follow.one_time_links import host_in_words
from links.follow.visitor_pages import FRAMELESS, TOO_MANY, Answer, Visit, dead, not_allowed, page
from links.models import Link

POLICY = f"; form-action 'self'{FRAMELESS}"
SHOWN, REFUSED, FORBIDDEN = "200 OK", "400 Bad Request", "403 Forbidden"


def answer(outcome: Outcome, visit: Visit) -> Answer:
    if visit.method not in ("GET", "HEAD", "POST"):
        return not_allowed("GET, HEAD, POST")
    if isinstance(outcome, Expired):
        return dead(outcome.gone(), visit)
    if isinstance(outcome, Dead):
        return dead(outcome, visit)
    with lent_connection(), translation.override(visit.language):
        found = Link.objects.select_related("company").filter(pk=UUID(outcome.link_id))
        link = found.first()
        if link is None or not link.is_live or link.used_at:
            return dead(outcome.gone(), visit)
        answer_of = _report if visit.method == "POST" else _show
        return answer_of(link, outcome, visit)


def _report(link: Link, found: Found, visit: Visit) -> Answer:
    posted = form_nonces.form_of(visit.environ)
    form = ReportForm(posted)
    if not form.is_valid():
        return _show(link, found, visit, form, REFUSED)
    if not form_nonces.is_good(found.link_id, posted.get("nonce")):
        return _show(link, found, visit, form, FORBIDDEN)
    if not form.is_by_machine:
        if wait := abuse_reports.wait_for(client_ip(visit.environ)):
            return dead(TOO_MANY, visit, ("Retry-After", str(wait)))
        words = form.cleaned_data
        abuse_reports.report(link_id=link.pk, reason=words["reason"], words=words["words"])
    return page(SHOWN, "links/thanks.html", {}, visit, POLICY)


def _show(
    link: Link, found: Found, visit: Visit, form: ReportForm | None = None, status: str = SHOWN
) -> Answer:
    context = {
        "link": link,
        "host": host_in_words(found.url),
        # The rest of an address that opens once may be what it keeps.
        "target": "" if found.is_once else found.url,
        "form": form or ReportForm(),
        "nonce": form_nonces.draw(found.link_id),
    }
    return page(status, "links/about.html", context, visit, POLICY)
