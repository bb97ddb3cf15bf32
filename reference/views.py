"""The documentation's pages: open to everyone, in the reader's language."""

from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.models import ApiKey, EventKind, Member, Mode
from accounts.roles import can_read_keys, current_member
from channels import scripts
from config.errors import Error
from otp import rendering
from reference import events, pages, samples, wording
from reference.advice import ADVICE
from reference.calls import CALLS
from reference.calls.codes import SEND_CODE, VERIFY_CODE
from reference.numbers import numbers
from reference.schema import language, refusal_example

COOKIE = "sample"
KEPT = 365 * 86_400


def page(request: HttpRequest, slug: str = pages.FIRST) -> HttpResponse:
    found = pages.BY_SLUG.get(slug)
    if found is None:
        raise Http404
    before, after = pages.beside(found)
    context = {
        "page": found,
        "sections": pages.SECTIONS,
        "before": before,
        "after": after,
        "lang": language(),
        "sample_language": sample_language(request),
        "base_url": f"{settings.PUBLIC_URL}/api/v1",
        "call": found.call,
        "n": numbers(),
        **EXTRA.get(slug, nothing)(request),
    }
    return remember_language(request, render(request, f"docs/{language()}/{slug}.html", context))


# Swagger UI sets `style` attributes from its script; no other page may.
@csp_update({"style-src-attr": ["'unsafe-inline'"]})
def try_it(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/try.html", {"lang": language()})


def sample_language(request: HttpRequest) -> str:
    """The one asked for, else the one read last, else the first."""
    asked = request.GET.get("lang", request.COOKIES.get(COOKIE, ""))
    return asked if asked in samples.BY_NAME else samples.LANGUAGES[0].name


def remember_language(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The language of examples that was asked for is shown first from now on."""
    chosen = sample_language(request)
    if chosen != request.COOKIES.get(COOKIE) and "lang" in request.GET:
        response.set_cookie(
            COOKIE, chosen, max_age=KEPT, samesite="Lax", secure=settings.PRODUCTION, httponly=True
        )
    return response


def nothing(request: HttpRequest) -> dict[str, Any]:
    return {}


def quickstart(request: HttpRequest) -> dict[str, Any]:
    member = current_member(request)
    with_test_key = {"cost": 0, "test": True, "resend_in": 0}
    return {
        "member": member,
        "key": test_key(member),
        "sent": SEND_CODE.answer_example(language()) | with_test_key,
        "verified": VERIFY_CODE.answer_example(language()),
    }


def test_key(member: Member | None) -> ApiKey | None:
    """The newest active test key of the reader's company, for its beginning and its end."""
    if member is None or not can_read_keys(member):
        return None
    return member.company.api_keys.active().filter(mode=Mode.TEST).first()


def wrong_code(request: HttpRequest) -> dict[str, Any]:
    return {"refused": refusal_example(Error.CODE_INVALID, language())}


def bad_url(request: HttpRequest) -> dict[str, Any]:
    return {"refused": refusal_example(Error.URL_NOT_ALLOWED, language())}


def errors(request: HttpRequest) -> dict[str, Any]:
    callers = {error: [call for call in CALLS if error in call.own_errors] for error in Error}
    return {
        "errors": [(error, ADVICE.get(error), callers[error]) for error in Error],
        "example": refusal_example(Error.INVALID_INPUT, language()),
    }


def all_calls(request: HttpRequest) -> dict[str, Any]:
    return {"calls": CALLS}


def scripted(request: HttpRequest) -> dict[str, Any]:
    return {"outcomes": [(digits, *outcome) for digits, outcome in scripts.OUTCOMES.items()]}


def callbacks(request: HttpRequest) -> dict[str, Any]:
    return {
        "kinds": [(kind, words, events.data_of(kind)) for kind, words in events.WORDS.items()],
        "example": events.whole(EventKind.MESSAGE_DELIVERED),
        "signed": events.signed(),
    }


def own_texts(request: HttpRequest) -> dict[str, Any]:
    return {
        "text": wording.OWN_TEXT[language()],
        "sent": wording.own(language()),
        "minutes": rendering.most_minutes(),
    }


def every_sample(request: HttpRequest) -> dict[str, Any]:
    return {"stems": samples.STEMS}


EXTRA = {
    pages.FIRST: quickstart,
    "verify-code": wrong_code,
    "shorten": bad_url,
    "errors": errors,
    "calls": all_calls,
    "test-mode": scripted,
    "examples": every_sample,
    "callbacks": callbacks,
    "texts": own_texts,
}
