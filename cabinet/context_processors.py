"""Template context of every cabinet page, evaluated lazily."""

from functools import partial

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.people.cabinet_access import current_member, memberships
from accounts.security.reauthentication import is_fresh
from accounts.security.sessions import has_provider

# Sections shown under another menu entry.
PARENT_SECTION = dict.fromkeys(
    ("member", "audit", "invitation", "text", "autofill", "policy", "protection", "budget"),
    "settings",
)
SECTION_OF_VIEW = {
    "company-export": "settings",
    "company-delete": "settings",
    "send": "message",
    "send-check": "message",
}


def cabinet(request: HttpRequest) -> dict[str, object]:
    match = request.resolver_match
    name = (match.url_name or "") if match else ""
    # allauth's pages about the second step share one menu entry.
    first = "mfa_index" if name.startswith("mfa_") else name.partition("-")[0]
    section = SECTION_OF_VIEW.get(name, first)
    return {
        "section": PARENT_SECTION.get(section, section),
        "member": SimpleLazyObject(partial(current_member, request)),
        "memberships": SimpleLazyObject(partial(memberships, request)),
        "is_confirmed": SimpleLazyObject(partial(is_fresh, request)),
        "single_sign_on": settings.OIDC_NAME if has_provider() else "",
    }
