"""Links that open once: whoever asks sees a page, and only its button opens the link.

Messengers, mail scanners and browsers fetch links before people do, and none of them posts a form.
What is cached never opens such a link: the database is asked each time.
"""

from urllib.parse import urlsplit
from uuid import UUID

from django.db import connection

from config.borrowed_connection import lent_connection
from links.addresses.utm_tags import tagged
from links.clicks import buffer, visitor_headers
from links.clicks.visitor_headers import Kind
from links.follow import form_nonces
from links.follow.cached_row import ONCE_GONE, Found
from links.follow.visitor_pages import FRAMELESS, Answer, Visit, dead, lead, page

_LIVE = """
  l.id = %s AND l.is_once AND l.used_at IS NULL AND l.disabled_at IS NULL AND l.retired_at IS NULL
  AND (l.expires_at IS NULL OR l.expires_at > now())
  AND NOT EXISTS (SELECT 1 FROM links_stop s WHERE s.company_id = l.company_id
    AND (s.batch_id IS NULL OR s.batch_id = l.batch_id))
"""
_SEE = f"SELECT l.url FROM links_link l WHERE {_LIVE}"  # noqa: S608 - of constants

# Of any number at once, one is told the target.
_OPEN = f"""
UPDATE links_link l SET used_at = now() WHERE {_LIVE}
RETURNING l.url, l.utm, (SELECT channel FROM channels_message m WHERE m.id = l.message_id)
"""  # noqa: S608 - of constants

_WORDS = {
    "ru": ("Ссылка открывается один раз", "Она ведёт на сайт", "Открыть"),
    "en": ("This link opens once", "It leads to", "Open"),
}


def show(found: Found, visit: Visit) -> Answer:
    row = _ask(_SEE, found)
    if row is None:
        return dead(ONCE_GONE, visit)
    if visitor_headers.kind_of(visit.environ) is not Kind.PERSON:
        buffer.note(found.link_id, visit.environ)  # a person's click is the button
    return _page("200 OK", found, visit)


def open_link(found: Found, visit: Visit) -> Answer:
    if not form_nonces.is_good(found.link_id, form_nonces.form_of(visit.environ).get("nonce")):
        return _page("403 Forbidden", found, visit)  # the button has to be pressed anew
    row = _ask(_OPEN, found)
    if row is None:
        return dead(ONCE_GONE, visit)
    buffer.note(found.link_id, visit.environ)
    url, utm, channel = row
    return lead("303 See Other", tagged(url, utm, channel or "link"))


def _ask(statement: str, found: Found) -> tuple[str, ...] | None:
    with lent_connection(), connection.cursor() as cursor:
        cursor.execute(statement, [UUID(found.link_id)])
        row: tuple[str, ...] | None = cursor.fetchone()
    return row


def _page(status: str, found: Found, visit: Visit) -> Answer:
    other = "en" if visit.language == "ru" else "ru"
    context = {
        "other": other,
        "words": _WORDS[visit.language],
        "other_words": _WORDS[other],
        "host": host_in_words(found.url),
        "nonce": form_nonces.draw(found.link_id),
    }
    # No form-action: Chrome and Safari hold it against the redirect that follows the form, too.
    return page(status, "links/once.html", context, visit, FRAMELESS)


def host_in_words(url: str) -> str:
    """As people write it, Cyrillic and all."""
    host = urlsplit(url).hostname or ""
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host
