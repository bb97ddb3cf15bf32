"""The template context of each page: values that all pages share, and those of a single page."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from accounts.models import ApiKey, Member, Mode
from accounts.people.cabinet_access import can_manage_keys, can_read_technical_pages, current_member
from api_docs.calls import CALLS
from api_docs.pages import page_list, samples
from api_docs.pages.changelog import CHANGES
from api_docs.pages.page_list import Page
from api_docs.pages.values import numbers
from api_docs.schema import webhook_events
from api_docs.schema.schema import refusal_example
from catalogue.errors import Error
from catalogue.languages import message_languages, page_languages
from channels.routing import scripted_numbers
from identity_hooks.kinds import kinds
from identity_hooks.models import PATH
from identity_hooks.web.views import pieces
from otp.texts import rendering
from otp.web.calls import SEND_CODE, VERIFY_CODE
from webhooks.events import declaration_of
from webhooks.models import EventKind

HINT = "kv_test_YOUR_KEY"  # not a shortened real key, which people would copy


def of_page(
    request: HttpRequest, page: Page, sample_language: str, fresh_key: str = ""
) -> dict[str, Any]:
    before, after = page_list.neighbours(page)
    return {
        "page": page,
        "sections": page_list.SECTIONS,
        "before": before,
        "after": after,
        "lang": page_languages.active(),
        "sample_language": sample_language,
        "site_url": settings.PUBLIC_URL,
        "base_url": f"{settings.PUBLIC_URL}/api/v1",
        "call": page.call,
        "n": numbers(),
        **_key(request, fresh_key),
        **EXTRA.get(page.slug, dict)(),
    }


def _key(request: HttpRequest, fresh_key: str) -> dict[str, Any]:
    """The key in the snippets. Only hashes of keys are stored, so a whole key is available only in
    the request that creates it.
    """
    member = current_member(request)
    key = test_key(member)
    return {
        "member": member,
        "key": key,
        "fresh_key": fresh_key,
        "test_key": fresh_key or HINT,
        "can_fill": member is not None and can_manage_keys(member),
    }


def quickstart() -> dict[str, Any]:
    with_test_key = {"cost": 0, "test": True, "resend_in": 0}
    return {
        "sent": SEND_CODE.response_example() | with_test_key,
        "verified": VERIFY_CODE.response_example(),
    }


def test_key(member: Member | None) -> ApiKey | None:
    """The newest active test key of the reader's company, of which pages show start and end."""
    if member is None or not can_read_technical_pages(member):
        return None
    return member.company.api_keys.active().filter(mode=Mode.TEST, purpose="").first()


def errors() -> dict[str, Any]:
    callers = {error: [call for call in CALLS if error in call.specific_errors] for error in Error}
    return {
        "errors": [(error, callers[error]) for error in Error],
        "example": refusal_example(Error.INVALID_INPUT),
    }


def webhooks() -> dict[str, Any]:
    return {
        "kinds": [
            (kind, declaration_of(kind).kinds[kind], webhook_events.data_of(kind))
            for kind in EventKind
        ],
        "example": webhook_events.body_of(EventKind.MESSAGE_DELIVERED),
        "signed": webhook_events.signed_example(),
    }


def own_texts() -> dict[str, Any]:
    return {
        "text": page_languages.texts(page_languages.active())["sample"]["text"],
        "sent": samples.sample_sms(page_languages.active()),
        "minutes": rendering.max_minutes(),
        "languages": [
            (tag, page_languages.title(tag)) for tag in sorted(message_languages.codes())
        ],
    }


def identity_servers() -> dict[str, Any]:
    """Each kind of server with its settings, as on the cabinet's page."""
    url = f"{settings.PUBLIC_URL}{PATH}"
    return {
        "identity_servers": [
            (kind, pieces(kind, f"{url}/{kind.name}/…", "…")) for kind in kinds().values()
        ]
    }


EXTRA: dict[str, Callable[[], dict[str, Any]]] = {
    page_list.FIRST: quickstart,
    "verify-code": lambda: {"refused": refusal_example(Error.CODE_INVALID)},
    "shorten": lambda: {"refused": refusal_example(Error.URL_NOT_ALLOWED)},
    "errors": errors,
    "calls": lambda: {"calls": CALLS},
    "test-mode": lambda: {
        "outcomes": [(end, *row) for end, row in scripted_numbers.OUTCOMES.items()]
    },
    "examples": lambda: {"stems": samples.STEMS},
    "webhooks": webhooks,
    "identity-servers": identity_servers,
    "changelog": lambda: {"days": CHANGES.items()},
    "texts": own_texts,
}
