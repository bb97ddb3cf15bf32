"""The timeline of a code, for the page of the message that carried it."""

from collections.abc import Iterator

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from channels.extensions import TimelineEntry
from channels.models import Message
from links.manage import timeline as links_timeline
from otp.models import Verification


def entries(message: Message) -> Iterator[TimelineEntry]:
    yield from links_timeline.entries(message)
    code = Verification.objects.filter(pk=message.subject_id).first()
    if code is None:
        return
    wrong = code.attempts - (code.verified_at is not None)
    if wrong and code.judged_at:
        words = ngettext("%(n)d wrong code entered", "%(n)d wrong codes entered", wrong)
        left = code.max_attempts - code.attempts
        detail = "" if left or code.verified_at else _("No attempts are left: send a new code.")
        yield TimelineEntry(code.judged_at, words % {"n": wrong}, "warning", detail)
    if code.verified_at:
        yield TimelineEntry(code.verified_at, _("The correct code was entered"), "success")
    elif code.expires_at <= timezone.now():
        yield TimelineEntry(code.expires_at, _("The code expired before it was entered"))
