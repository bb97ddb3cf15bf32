"""The documentation's pages, in the order they are read."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from api.calls import Call
from api_docs.calls import CALLS
from catalogue.texts import StrOrPromise

FIRST = "quickstart"


@dataclass(frozen=True, slots=True)
class Page:
    slug: str
    title: StrOrPromise

    @property
    def url(self) -> str:
        if self.slug == FIRST:
            return reverse("docs")
        return reverse("docs-page", args=[self.slug])

    @property
    def call(self) -> Call | None:
        return next((call for call in CALLS if call.page == self.slug), None)


SECTIONS: tuple[tuple[StrOrPromise, tuple[Page, ...]], ...] = (
    (
        pgettext_lazy("documentation", "Start"),
        (
            Page(FIRST, _("Quickstart")),
            Page("test-mode", _("Test mode")),
            Page("examples", _("Code examples")),
        ),
    ),
    (
        _("Calls"),
        (
            Page("send-code", _("Send a code")),
            Page("verify-code", _("Verify a code")),
            Page("verification", _("Verification")),
            Page("shorten", _("Shorten a link")),
            Page("send-link", _("Send a link")),
            Page("calls", _("All calls")),
        ),
    ),
    (
        _("Clients of other services"),
        (
            Page("compat", _("Change one line")),
            Page("compat-twilio", _("From Twilio in ten minutes")),
            Page("compat-prelude", _("From Prelude")),
            Page("compat-infobip", _("From Infobip 2FA")),
            Page("compat-camara", "CAMARA"),
            Page("compat-vonage", "Vonage Verify"),
        ),
    ),
    (_("Without code"), (Page("identity-servers", _("Identity servers")),)),
    (
        _("How it works"),
        (
            Page("errors", _("Errors")),
            Page("statuses", _("Statuses and charges")),
            Page("limits", _("Limits")),
            Page("links", _("Short links")),
            Page("policy", _("Policy by country")),
            Page("protection", _("Protection against pumping")),
            Page("texts", _("Texts and autofill")),
            Page("idempotency", _("Safe retries")),
            Page("webhooks", _("Webhooks")),
            Page("statement", _("Proof of the statement")),
            Page("changelog", _("Changelog")),
        ),
    ),
)
PAGES = [page for _title, pages in SECTIONS for page in pages]
FORMER_SLUGS = {"callbacks": "webhooks", "api": "calls"}  # former slug → present slug
BY_SLUG = {page.slug: page for page in PAGES}


def neighbours(page: Page) -> tuple[Page | None, Page | None]:
    index = PAGES.index(page)
    before = PAGES[index - 1] if index else None
    return before, PAGES[index + 1] if index + 1 < len(PAGES) else None
