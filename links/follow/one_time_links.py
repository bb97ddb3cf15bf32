"""One-time links: a visitor sees a page first, and only its button opens the link.

Messengers, mail scanners and browsers fetch links before people do, and never post a form. No cache
opens a one-time link: the database decides each time.
"""

from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from catalogue.languages import page_languages
from links.addresses.utm_tags import add_tags
from links.clicks import bot_detection, buffer
from links.clicks.bot_detection import VisitorKind
from links.follow import responses, visitor_forms
from links.follow.cached_row import ONE_TIME_GONE, LinkTarget
from links.follow.responses import Visit, VisitorResponse, error_page
from parsing.hosts import unicode_host
from storage.sessions import pooled_connection
from storage.statements import sql_files
from storage.statements.queries import select_one

_SQL = sql_files.read_several("links/follow/one_time_links.sql")


_TEXTS = responses.PageTexts(_("This link opens once"), _("It leads to"), _("Open"))


class _Target(NamedTuple):
    url: str
    utm: str = ""
    channel: str | None = None


def show_button(link: LinkTarget, visit: Visit) -> VisitorResponse:
    row = _fetch(_SQL["target"], link)
    if row is None:
        return error_page(ONE_TIME_GONE, visit)
    if bot_detection.kind_of(visit.environ) is not VisitorKind.PERSON:
        buffer.add(link.link_id, visit.environ)  # the button is a person's click
    return _page("200 OK", link, visit)


def open_link(link: LinkTarget, visit: Visit) -> VisitorResponse:
    if not visitor_forms.is_nonce_valid(
        link.link_id, visitor_forms.posted_form(visit.environ).get("nonce")
    ):
        return _page("403 Forbidden", link, visit)  # the button must be pressed again
    row = _fetch(_SQL["open"], link)
    if row is None:
        return error_page(ONE_TIME_GONE, visit)
    buffer.add(link.link_id, visit.environ)
    return responses.redirect_to("303 See Other", add_tags(row.url, row.utm, row.channel or "link"))


def _fetch(statement: str, link: LinkTarget) -> _Target | None:
    with pooled_connection():
        return select_one(_Target, statement, [UUID(link.link_id)])


def _page(status: str, link: LinkTarget, visit: Visit) -> VisitorResponse:
    other = page_languages.second_language(visit.language)
    context = {
        "other": other,
        "texts": responses.texts_in(visit.language, _TEXTS),
        "other_texts": responses.texts_in(other, _TEXTS),
        "host": unicode_host(urlsplit(link.url).hostname or ""),
        "nonce": visitor_forms.issue_nonce(link.link_id),
    }
    # No form-action: Chrome and Safari also apply it to the redirect after the form.
    policy = responses.NO_FRAMING
    return responses.html_page(
        status, "links/once.html", context, visit, policy, script="submit_once.js"
    )
