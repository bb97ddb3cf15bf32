"""send-code and validate-code.

Every send makes a code of its own: the standard ends the one before it.
"""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from api import request_fields
from api.calls import Field, text
from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error, invalid_input
from channels.routing.company_policy import NO_ORDER, AskedOrder, policy_for
from compat.camara.dialect import CORRELATOR, DIALECT
from compat.fields import guess, needed, optional
from compat.view import CompatView
from otp.texts import rules
from parsing import characters

LABEL = "{{code}}"
PHONE = needed("phoneNumber", text(pattern=r"\+[1-9][0-9]{4,14}"))
MESSAGE = Field("message", text(maxLength=160), "", is_multiline=True)
# Optional for the reader of fields, to which an empty text is as good as none.
AUTHENTICATION_ID = optional("authenticationId", text(maxLength=36))
CODE = guess("code", text(maxLength=10)).optional()
NO_LABEL = _("Must contain {{code}}")
STRICT = {"vwip", "v2alpha1"}  # 2.0 refuses unknown properties


class CamaraView(CompatView):
    dialect = DIALECT
    fields: ClassVar[tuple[Field, ...]]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not CORRELATOR.fullmatch(request.META.get("HTTP_X_CORRELATOR", "")):
            raise invalid_input(**{"x-correlator": request_fields.WRONG_FORMAT})

    def read(self, request: Request, version: str) -> RequestFields:
        body = self.json_object(request)
        names = [field.name for field in self.fields]
        if version in STRICT and (unknown := body.keys() - set(names)):
            refused = request_fields.refusal_text(None, names)
            raise DomainError(
                Error.INVALID_INPUT, errors={name[:40]: [refused] for name in sorted(unknown)[:9]}
            )
        return RequestFields(body)


class SendCode(CamaraView):
    fields = (PHONE, MESSAGE)

    def post(self, request: Request, version: str) -> HttpResponse:
        fields = self.read(request, version)
        phone, body = fields.text(PHONE), _text(fields)
        fields.check()
        number = self.number(phone or "")
        code = self.code_request(number, order=self._order(number), text=body, is_new=True)
        try:
            sent = self.send(code)
        except DomainError as error:
            if error.error is not Error.TOO_MANY_ATTEMPTS:  # of earlier codes
                raise
            raise DomainError(Error.SEND_LIMIT, retry_after=error.retry_after) from None
        return self.answer({"authenticationId": str(sent.verification_id)})

    def _order(self, phone: str) -> AskedOrder:
        """SMS, as the standard says, unless the company's policy has an order for this number: then
        the channels of it that carry a text of the caller's.
        """
        policy = policy_for(self.principal, phone, self.principal.purpose)
        return NO_ORDER if policy.is_own else AskedOrder(("sms",))


def _text(fields: RequestFields) -> str:
    """The caller's message as a text of ours, whose rules hold: no addresses, no other numbers."""
    message = fields.text(MESSAGE) or ""
    if message and LABEL not in message:
        fields.add_error(MESSAGE, NO_LABEL)
    if MESSAGE.name in fields.errors:
        return ""
    body = characters.normalised(message).replace(LABEL, "{code}")
    try:
        rules.check(body)
    except ValidationError as error:
        for fault in error.messages:
            fields.add_error(MESSAGE, fault)
    return body


class ValidateCode(CamaraView):
    fields = (AUTHENTICATION_ID, CODE)

    def post(self, request: Request, version: str) -> HttpResponse:
        fields = self.read(request, version)
        named, code = fields.text(AUTHENTICATION_ID), fields.text(CODE)
        for field, value in ((AUTHENTICATION_ID, named), (CODE, code)):
            if value is None and field.name not in fields.errors:
                fields.add_error(field, request_fields.REQUIRED)
        fields.check()
        self.check_found(self.find(named or ""), code or "")
        return self.answer(status=204)
