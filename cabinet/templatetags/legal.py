"""Where the service's terms are, how it treats data and whom to write to: on every page."""

from dataclasses import dataclass
from urllib.parse import quote

from django import template
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.models import Company

register = template.Library()


@dataclass(frozen=True, slots=True)
class LegalLink:
    title: str
    url: str


def links(language: str | None = None) -> list[LegalLink]:
    """The operator's documents, in this language or in the page's own."""
    with translation.override(language or translation.get_language()):
        email = settings.SUPPORT_EMAIL
        support = settings.SUPPORT_URL or (f"mailto:{email}" if email else "")
        documents = [
            LegalLink(_("Terms of service"), settings.TERMS_URL),
            LegalLink(_("Privacy policy"), settings.PRIVACY_URL),
            LegalLink(_("Support"), support),
        ]
        return [document for document in documents if document.url]


@register.inclusion_tag("components/legal_links.html")
def legal_links(language: str | None = None) -> dict[str, object]:
    return {"links": links(language)}


@register.simple_tag
def support_url(company: Company) -> str:
    """Where to write about a company; its e-mails name it already. Empty where nothing is set."""
    if settings.SUPPORT_EMAIL:
        subject = quote(f"Kvitok: {company.one_line_name} ({company.pk})")
        return f"mailto:{settings.SUPPORT_EMAIL}?subject={subject}"
    return str(settings.SUPPORT_URL)


@register.simple_tag
def legal_lines() -> list[LegalLink]:
    """For e-mails, which are laid out by themselves."""
    return links()
