"""Twilio's attempts: what became of the messages with the codes, and how many were entered."""

from datetime import date, datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.models import Company
from api.calls import Field, Schema, text, time_or_day
from api.request_fields import QueryFields
from catalogue.errors import DomainError, Error
from channels.history.breakdown import Dimension, Steps, breakdown
from channels.history.figures import DayRange
from compat.twilio.answers import Bodies
from compat.twilio.fields import VERIFICATION_SID
from compat.twilio.sids import parse_sid
from compat.twilio.views import TwilioView
from otp.verifications import FoundVerification, State


def _field(name: str, schema: Schema | None = None) -> Field:
    return Field(name, schema or text(maxLength=64), "", required=False)


SERVICE, CHANNEL, TO = map(_field, ("VerifyServiceSid", "Channel", "ChannelData.To"))
CONVERSION = _field("Status", text(enum=["converted", "unconverted"]))
AFTER = _field("DateCreatedAfter", time_or_day())
BEFORE = _field("DateCreatedBefore", time_or_day())
NOT_COUNTED = tuple(map(_field, ("Country", "Channel", "DestinationPrefix")))
NO_HISTORY = _(
    "A key of this kind reads no history: name a VerificationSid, or a number in ChannelData.To"
)
ONLY_WHOLE = _("Attempts are counted by day, and for the whole service")
DAYS, MAX_DAYS = 30, 92


class Attempts(TwilioView):
    """The attempts of one verification: a key that leaks must list nobody's numbers."""

    def get(self, request: Request) -> HttpResponse:
        fields = QueryFields(request.query_params.dict())
        sid, to = fields.text(VERIFICATION_SID), fields.text(TO)
        wanted = {
            "service_sid": fields.text(SERVICE),
            "channel": fields.text(CHANNEL),
            "conversion_status": fields.text(CONVERSION),
        }
        fields.check()
        if not (sid or to):
            raise DomainError(Error.FORBIDDEN, message=NO_HISTORY)
        rows = [
            row
            for row in _bodies_of(self.bodies, self.find_by(sid or to or ""))
            if all(value in {None, row[name]} for name, value in wanted.items())
        ]
        return self.answer(self.bodies.page("attempts", rows, "/Attempts"))


def _bodies_of(bodies: Bodies, verification: FoundVerification) -> list[dict[str, Any]]:
    """The newest one counts as the one whose code was entered."""
    newest = verification.messages[-1].id if verification.messages else None
    is_entered = verification.state is State.VERIFIED
    return [
        bodies.attempt(message, is_converted=is_entered and message.id == newest)
        for message in verification.messages
    ]


class Attempt(TwilioView):
    def get(self, request: Request, sid: str) -> HttpResponse:
        message_id = parse_sid("VL", sid)
        if message_id is None:
            raise DomainError(Error.NOT_FOUND)
        rows = _bodies_of(self.bodies, self.find_of_message(message_id))
        return self.answer(next(row for row in rows if row["sid"].lower() == sid.lower()))


class Summary(TwilioView):
    """Numbers of whole days, by default of the last thirty."""

    def get(self, request: Request) -> HttpResponse:
        fields = QueryFields(request.query_params.dict())
        service = fields.text(SERVICE)
        after, before = fields.time(AFTER), fields.time(BEFORE)
        for field in NOT_COUNTED:
            if fields.text(field):
                fields.add_error(field, ONLY_WHOLE)
        shown = _days(after, before)
        if shown.length > MAX_DAYS or shown.length < 1:
            fields.add_error(AFTER, _("At most 92 days"))
        fields.check()
        is_own = service in {None, self.bodies.service_sid}
        steps = self._steps(shown) if is_own else Steps()
        share = 100 * steps.entered / steps.codes if steps.codes else 0
        return self.answer(
            {
                "total_attempts": steps.codes,
                "total_converted": steps.entered,
                "total_unconverted": max(0, steps.codes - steps.entered),
                "conversion_rate_percentage": f"{share:.2f}",
                "url": self.bodies.url("/Attempts/Summary"),
            }
        )

    def _steps(self, shown: DayRange) -> Steps:
        principal = self.principal
        company = Company.objects.get(pk=principal.company_id)
        table = breakdown(company, principal.mode, shown, Dimension.PURPOSE)
        return table.rows.get(principal.purpose, Steps())


def _days(after: datetime | None, before: datetime | None) -> DayRange:
    last: date = timezone.localdate(before)
    first = timezone.localdate(after) if after else last - timedelta(days=DAYS - 1)
    return DayRange(first, last)
