"""Links that open an invoice or a document without signing in: a bookkeeper has no account here.

They end, for letters are forwarded and addresses stay in histories. Each place that shows one makes
it anew.
"""

from datetime import timedelta
from uuid import UUID

from django.core import signing

LIFETIME = timedelta(days=30)


class LinkExpiredError(Exception):
    """We made this link, longer ago than links work."""


class SignedLinks:
    def __init__(self, salt: str) -> None:
        self._signer = signing.TimestampSigner(salt=salt)

    def token(self, pk: UUID) -> str:
        return self._signer.sign(pk.hex)

    def read(self, token: str) -> UUID | None:
        """None for what we did not sign; raises LinkExpiredError."""
        try:
            return UUID(hex=self._signer.unsign(token, max_age=LIFETIME))
        except (signing.SignatureExpired, ValueError):  # before they ended they carried no time
            raise LinkExpiredError from None
        except signing.BadSignature:
            return None


INVOICES = SignedLinks("billing.invoice")
DOCUMENTS = SignedLinks("billing.document")
