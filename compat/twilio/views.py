"""The calls of Twilio Verify v2."""

from django.http import HttpResponse
from rest_framework.request import Request

from compat.dialect import Answer
from compat.twilio.dialect import DIALECT
from compat.view import CompatView


class TwilioView(CompatView):
    dialect = DIALECT


class Service(TwilioView):
    def get(self, request: Request, service: str) -> HttpResponse:
        return self.respond(Answer(200, {"sid": service}))
