"""The calls send-code and validate-code.

Every send creates a new code: the standard invalidates the previous one.
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple
from urllib.parse import unquote_plus

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.translation import gettext_lazy as _

from accounts.keys import api_keys, issued_tokens
from accounts.models import Scope
from api import request_fields, unknown_fields
from api.authentication import authorize
from api.calls import Field, text
from api.request_body import json_object
from catalogue.errors import DomainError, Error, invalid_input
from channels.routing.company_policy import NO_ORDER, RequestedOrder, policy_for
from compat.camara.dialect import CORRELATOR, DIALECT
from compat.dialect import Response, basic_credentials, credentials
from compat.fields import Body, ParsedField, entered_code, optional, required
from compat.view import FORM, CompatView
from otp.texts import rules
from parsing import characters

LABEL = "{{code}}"
PHONE = required("phoneNumber", text(pattern=r"\+[1-9][0-9]{4,14}"))


def code_text(message: str) -> str:
    """The caller's message as a code text, under our rules: no URLs, no other numbers."""
    if LABEL not in message:
        raise ValidationError(_("Must contain {{code}}"))
    body = characters.normalised(message).replace(LABEL, "{code}")
    rules.check(body)
    return body


MESSAGE = ParsedField("message", text(maxLength=160), "", is_multiline=True, parse=code_text)
# Optional here, because our reader takes an empty required text for a missing one.
AUTHENTICATION_ID = optional("authenticationId", text(maxLength=36))
CODE = entered_code("code", text(maxLength=10)).optional()
STRICT = {"vwip", "v2alpha1"}  # 2.0 refuses unknown properties


class CamaraView(CompatView):
    dialect = DIALECT
    fields: ClassVar[tuple[Field, ...]]

    def check_access(self, request: HttpRequest) -> None:
        super().check_access(request)
        if not CORRELATOR.fullmatch(request.META.get("HTTP_X_CORRELATOR", "")):
            raise invalid_input(**{"x-correlator": request_fields.WRONG_FORMAT})

    def read(self, request: HttpRequest, version: str) -> Body:
        body = json_object(request)
        names = [field.name for field in self.fields]
        if version in STRICT and (unknown := body.keys() - set(names)):
            refused = unknown_fields.refusal_text(None, names)
            raise DomainError(
                Error.INVALID_INPUT, errors={name[:40]: [refused] for name in sorted(unknown)[:9]}
            )
        return Body(body, self.fields)


class SendCode(CamaraView):
    fields = (PHONE, MESSAGE)

    def post(self, request: HttpRequest, version: str) -> HttpResponse:
        body = self.read(request, version)
        body.check()
        number = self.number(body["phoneNumber"])
        text = body["message"]
        code = self.code_request(number, order=self._order(number), text=text, is_new=True)
        try:
            sent_code = self.send(code)
        except DomainError as error:
            if error.error is not Error.TOO_MANY_ATTEMPTS:  # wrong guesses of earlier codes
                raise
            raise DomainError(Error.SEND_LIMIT, retry_after=error.retry_after) from None
        return self.respond({"authenticationId": str(sent_code.verification_id)})

    def _order(self, phone: str) -> RequestedOrder:
        """The requested channels: SMS, as the standard says, unless the policy covers this number.

        The policy's channels that can carry the caller's text are then used.
        """
        policy = policy_for(self.principal, phone, self.principal.purpose)
        return NO_ORDER if policy.has_matching_rule else RequestedOrder(("sms",))


class ValidateCode(CamaraView):
    fields = (AUTHENTICATION_ID, CODE)

    def post(self, request: HttpRequest, version: str) -> HttpResponse:
        body = self.read(request, version)
        for field in self.fields:
            if body[field.name] is None and field.name not in body.errors:
                body.add_error(field, request_fields.REQUIRED)
        body.check()
        self.check_found(self.find(body["authenticationId"]), body["code"])
        return self.respond(status=204)


SCOPE = "one-time-password-sms:send-validate"
HEADERS = {"Pragma": "no-cache"}
NOT_A_FORM = f"Send the body as {FORM}, uncompressed."


class OAuthError(NamedTuple):
    """An error response of RFC 6749, §5.2."""

    error: str
    status: int = 400


INVALID_REQUEST = OAuthError("invalid_request")
INVALID_CLIENT = OAuthError("invalid_client", 401)
ERRORS = {  # other errors are written like the dialect's
    Error.INVALID_API_KEY: INVALID_CLIENT,
    Error.FORBIDDEN: OAuthError("unauthorized_client"),
    Error.INVALID_INPUT: INVALID_REQUEST,
    Error.UNSUPPORTED_MEDIA_TYPE: INVALID_REQUEST,
}
GRANT = OAuthError("unsupported_grant_type")
WRONG_SCOPE = OAuthError("invalid_scope")


class Token(CompatView):
    """The client-credentials grant (RFC 6749, §4.4), with any client id; the secret is the key."""

    dialect = DIALECT
    is_open = True

    def post(self, request: HttpRequest) -> HttpResponse:
        pairs = self.form(request)
        form = dict(pairs)
        if len(form) < len(pairs):
            return self._refuse(INVALID_REQUEST, "A parameter is given twice.")
        if not form.get("grant_type"):
            return self._refuse(INVALID_REQUEST, "grant_type is missing.")
        if form["grant_type"] != "client_credentials":
            return self._refuse(GRANT, "Only client_credentials is supported.")
        scopes = [name for name in form.get("scope", "").split(" ") if name]
        if any(name != SCOPE and not name.startswith("dpv:") for name in scopes):
            return self._refuse(WRONG_SCOPE, f"Only {SCOPE} is supported.")
        return self._issue(request, form)

    def _issue(self, request: HttpRequest, form: Mapping[str, str]) -> HttpResponse:
        _user, secret = basic_credentials(request.META)
        if secret and form.get("client_secret"):
            return self._refuse(INVALID_REQUEST, "The client authenticates in two ways.")
        key = unquote_plus(secret) or form.get("client_secret", "")
        self.principal = authorize(api_keys.find(key), request.META, Scope.VERIFY)
        self.count_request(is_audited=False)
        body = {
            "access_token": issued_tokens.issue(key),
            "token_type": "Bearer",
            "expires_in": issued_tokens.LIFETIME,
            "scope": SCOPE,
        }
        return self.respond_with(Response(200, body, HEADERS))

    def error_response(self, error: DomainError) -> HttpResponse:
        row = ERRORS.get(error.error)
        if row is None:
            return super().error_response(error)
        is_other_type = error.error is Error.UNSUPPORTED_MEDIA_TYPE
        response = self._refuse(row, NOT_A_FORM if is_other_type else " ".join(error.texts))
        if row is INVALID_CLIENT and credentials(self.request.META, "Basic"):
            response["WWW-Authenticate"] = 'Basic realm="oauth2"'
        return response

    def _refuse(self, row: OAuthError, description: str) -> HttpResponse:
        body = {"error": row.error, "error_description": description}
        return self.respond_with(Response(row.status, body, HEADERS))


ROOT = "one-time-password-sms"
# The last two are 2.0: under its name before release, and as an alpha.
VERSIONS = ("v1", "vwip", "v2alpha1")

urlpatterns = [
    path("oauth2/token", Token.as_view()),
    *(
        path(f"{ROOT}/{version}/{name}", view.as_view(), {"version": version})
        for version in VERSIONS
        for name, view in (("send-code", SendCode), ("validate-code", ValidateCode))
    ),
]
