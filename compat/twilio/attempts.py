"""Twilio's attempts: what became of the messages with the codes, and how many were entered."""

from datetime import timedelta

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.models import Company
from api.calls import text, time_or_day
from api.request_fields import QueryFields
from catalogue.errors import DomainError, Error
from channels.history.breakdown import Dimension, Steps, breakdown
from channels.history.figures import DayRange
from channels.models import Message
from compat.fields import optional
from compat.twilio.base import TwilioView
from compat.twilio.fields import VERIFICATION_SID
from compat.twilio.sids import parse_sid
from otp.verifications import own_messages

NAME = text(maxLength=64)
SERVICE, CHANNEL = optional("VerifyServiceSid", NAME), optional("Channel", NAME)
TO = optional("ChannelData.To", NAME)
CONVERSION = optional("Status", text(enum=["converted", "unconverted"]))
AFTER = optional("DateCreatedAfter", time_or_day())
BEFORE = optional("DateCreatedBefore", time_or_day())
NOT_COUNTED = (optional("Country", NAME), CHANNEL, optional("DestinationPrefix", NAME))
NO_HISTORY = _(
    "A key of this kind reads no history: name a VerificationSid, or a number in ChannelData.To"
)
DAYS, MAX_DAYS = 30, 92


class Attempts(TwilioView):
    """The attempts of one verification: a key that leaks must list nobody's numbers."""

    def get(self, request: Request) -> HttpResponse:
        fields = QueryFields(request.query_params.dict())
        named = fields.text(VERIFICATION_SID) or fields.text(TO)
        wanted = {
            "service_sid": fields.text(SERVICE),
            "channel": fields.text(CHANNEL),
            "conversion_status": fields.text(CONVERSION),
        }
        fields.check()
        if not named:
            raise DomainError(Error.FORBIDDEN, message=NO_HISTORY)
        rows = [
            row
            for row in self.attempt_bodies(self.find_by(named))
            if all(value in {None, row[name]} for name, value in wanted.items())
        ]
        return self.answer(self.page("attempts", rows, "/Attempts"))


class Attempt(TwilioView):
    def get(self, _request: Request, sid: str) -> HttpResponse:
        message = get_object_or_404(
            own_messages(self.principal), kind=Message.Kind.CODE, pk=parse_sid("VL", sid)
        )
        rows = self.attempt_bodies(self.find(message.subject_id))
        return self.answer(next(row for row in rows if row["sid"].lower() == sid.lower()))


class Summary(TwilioView):
    """Numbers of whole days, by default of the last thirty."""

    def get(self, request: Request) -> HttpResponse:
        fields = QueryFields(request.query_params.dict())
        service, after = fields.text(SERVICE), fields.time(AFTER)
        last = timezone.localdate(fields.time(BEFORE))
        first = timezone.localdate(after) if after else last - timedelta(days=DAYS - 1)
        shown = DayRange(first, last)
        for field in NOT_COUNTED:
            if fields.text(field):
                fields.add_error(field, _("Attempts are counted by day, and for the whole service"))
        if not 1 <= shown.length <= MAX_DAYS:
            fields.add_error(AFTER, _("At most 92 days"))
        fields.check()
        steps = self._steps(shown) if service in {None, self.service_sid} else Steps()
        return self.answer(
            {
                "total_attempts": steps.codes,
                "total_converted": steps.entered,
                "total_unconverted": max(0, steps.codes - steps.entered),
                "conversion_rate_percentage": f"{steps.share('entered') or 0:.2f}",
                "url": self.url("/Attempts/Summary"),
            }
        )

    def _steps(self, shown: DayRange) -> Steps:
        principal = self.principal
        company = Company.objects.get(pk=principal.company_id)
        table = breakdown(company, principal.mode, shown, Dimension.PURPOSE)
        return table.rows.get(principal.purpose, Steps())
