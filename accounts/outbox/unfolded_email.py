"""E-mails whose headers are folded only between words."""

from email.header import Header
from typing import Any

from django.core.mail import EmailMultiAlternatives


class UnfoldedEmail(EmailMultiAlternatives):
    """An e-mail whose header values begin on the line of the header's name.

    Python would fold a header before a word longer than 78 characters: before an unsubscribe URL, a
    Message-ID, the first word of most Russian subjects. Mail servers that drop the space left on
    the first line, or unfold it before they sign, break the DKIM signature; RFC 5322 (2.1.1) allows
    998 characters.
    """

    def message(self, **options: Any) -> Any:
        wire = super().message(**options)
        wire.policy = wire.policy.clone(max_line_length=None)
        # Header counts its name as part of the first line, which RFC 2047 limits to 76 characters.
        subject = Header(str(self.subject), header_name="Subject")
        wire.replace_header("Subject", subject.encode(maxlinelen=76))
        return wire
