"""Signed links to documents, for bookkeepers without an account, and the letters with them."""

from collections.abc import Sequence

from django.conf import settings
from django.urls import reverse

from accounts.models import Company, Member
from accounts.outbox import mail
from billing.documents import upd_xml
from billing.models import BillingProfile, Document
from billing.signed_links import DOCUMENTS, LIFETIME
from config.ids import uuid7

RECIPIENT_ROLES = (Member.Role.OWNER, Member.Role.ACCOUNTANT)


def url_of(document: Document, kind: str) -> str:
    """A new link; `kind`: pdf or xml."""
    path = reverse("document-file", args=[DOCUMENTS.token(document.pk), kind])
    return f"{settings.PUBLIC_URL}{path}"


def send(company: Company, documents: Sequence[Document], *, again: bool = False) -> None:
    """To owners and accountants, and to the address for documents; once, or once more."""
    if not documents:
        return
    first = documents[0]
    key = f"documents:{uuid7().hex if again else first.pk.hex}"
    context = {
        "documents": [
            {
                "document": document,
                "pdf": url_of(document, "pdf"),
                "xml": url_of(document, "xml") if upd_xml.is_possible(document) else "",
            }
            for document in documents
        ],
        "days": LIFETIME.days,
        "month": first.month,
        "url": f"{settings.PUBLIC_URL}{reverse('document-list')}",
    }
    mail.post_to_members(
        company=company,
        roles=RECIPIENT_ROLES,
        template="documents",
        context=context,
        key=key,
    )
    profile = BillingProfile.objects.filter(company=company).first()
    if profile and profile.email and not _is_member(company, profile.email):
        mail.post(
            template="documents",
            to=profile.email,
            language=company.language,
            context={"company": company, **context},
            key=f"{key}:documents",
        )


def _is_member(company: Company, email: str) -> bool:
    members = Member.objects.filter(company=company, role__in=list(RECIPIENT_ROLES))
    return members.filter(user__email__iexact=email, user__is_active=True).exists()
