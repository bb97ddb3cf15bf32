"""Links that end one kind of letters without a sign-in (RFC 8058)."""

from django.conf import settings
from django.core import signing
from django.urls import reverse

from accounts.models import User
from accounts.outbox.notice_kinds import NoticeKind

SALT = "accounts.outbox.unsubscribing"


def url_for(user: User, kind: NoticeKind) -> str:
    """It works for as long as the person has an account: letters are kept for years."""
    token = signing.dumps([user.pk, kind.value], salt=SALT)
    return f"{settings.PUBLIC_URL}{reverse('notice-unsubscribe', args=[token])}"


def read(token: str) -> tuple[User, NoticeKind] | None:
    """None for what we did not sign, and for a person or a kind that is no more."""
    try:
        user_id, kind = signing.loads(token, salt=SALT)
        return User.objects.get(pk=user_id, is_active=True), NoticeKind(kind)
    except (signing.BadSignature, User.DoesNotExist, ValueError):
        return None
