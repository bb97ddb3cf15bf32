"""The letters about a company that each member may switch off; all others always come."""

from django.conf import settings
from django.core import signing
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import User

UNSUBSCRIBE_SALT = "accounts.outbox.unsubscribing"


class NoticeKind(models.TextChoices):
    BALANCE = "balance", _("Tokens or a budget are running out")
    TOP_UP = "top_up", _("Top-ups, automatic ones too")
    DOCUMENTS = "documents", _("Documents of a closed month or of an advance payment")
    DELIVERY = "delivery", _("Fewer messages arrive than usual")
    PROTECTION = "protection", _("Weekly: what a protection that only watches would hold back")
    WEBHOOK = "webhook", _("A webhook endpoint fails or was switched off")


KIND_OF_TEMPLATE = {
    "balance_low": NoticeKind.BALANCE,
    "balance_alert": NoticeKind.BALANCE,
    "budget_nearly_used": NoticeKind.BALANCE,
    "top_up_paid": NoticeKind.TOP_UP,
    "automatic_invoice": NoticeKind.TOP_UP,
    "auto_top_up_paused": NoticeKind.TOP_UP,
    "documents": NoticeKind.DOCUMENTS,
    "delivery_drop": NoticeKind.DELIVERY,
    "guard_week": NoticeKind.PROTECTION,
    "endpoint_failing": NoticeKind.WEBHOOK,
    "endpoint_disabled": NoticeKind.WEBHOOK,
}


def kind_of(template: str) -> NoticeKind | None:
    """None for a letter that nobody can switch off."""
    return KIND_OF_TEMPLATE.get(template)


def wants(user: User, kind: NoticeKind | None) -> bool:
    return kind is None or kind not in user.muted_notices


def mute(user: User, kind: NoticeKind) -> None:
    """Other choices made at the same time stay."""
    locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if kind not in locked.muted_notices:
        locked.muted_notices = sorted({*locked.muted_notices, kind.value})
        locked.save(update_fields=["muted_notices"])


def unsubscribe_link(user: User, kind: NoticeKind) -> str:
    """A link that ends letters of this kind without a sign-in (RFC 8058).

    It works for as long as the person has an account: letters are kept for years.
    """
    token = signing.dumps([user.pk, kind.value], salt=UNSUBSCRIBE_SALT)
    return f"{settings.PUBLIC_URL}{reverse('notice-unsubscribe', args=[token])}"


def read_unsubscribe_token(token: str) -> tuple[User, NoticeKind] | None:
    """None for what we did not sign, and for a person or a kind that is no more."""
    try:
        user_id, kind = signing.loads(token, salt=UNSUBSCRIBE_SALT)
        return User.objects.get(pk=user_id, is_active=True), NoticeKind(kind)
    except (signing.BadSignature, User.DoesNotExist, ValueError):
        return None
