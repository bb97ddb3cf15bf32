"""POST /oauth2/token: the client-credentials grant of RFC 6749, §4.4."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_plus

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.keys import access_tokens, api_keys
from accounts.models import Scope
from api.base_view import checked
from catalogue.errors import DomainError, Error
from compat.camara.dialect import DIALECT
from compat.dialect import Answer, basic_credentials, credentials
from compat.view import FORM, CompatView

SCOPE = "one-time-password-sms:send-validate"
HEADERS = {"Pragma": "no-cache"}
NOT_A_FORM = f"Send the body as {FORM}, uncompressed."


class OAuthError(NamedTuple):
    """§5.2"""

    error: str
    status: int = 400


INVALID_REQUEST, INVALID_CLIENT = OAuthError("invalid_request"), OAuthError("invalid_client", 401)
ERRORS = {  # others are in the dialect's words
    Error.INVALID_API_KEY: INVALID_CLIENT,
    Error.FORBIDDEN: OAuthError("unauthorized_client"),
    Error.INVALID_INPUT: INVALID_REQUEST,
    Error.UNSUPPORTED_MEDIA_TYPE: INVALID_REQUEST,
}
GRANT = OAuthError("unsupported_grant_type")
WRONG_SCOPE = OAuthError("invalid_scope")


class Token(CompatView):
    """The client's id may be any text; the secret is the key."""

    dialect = DIALECT
    is_open = True

    def post(self, request: Request) -> HttpResponse:
        given = self.form(request)
        form = dict(given)
        if len(form) < len(given):
            return self._refuse(INVALID_REQUEST, "A parameter is given twice.")
        if not form.get("grant_type"):
            return self._refuse(INVALID_REQUEST, "grant_type is missing.")
        if form["grant_type"] != "client_credentials":
            return self._refuse(GRANT, "Only client_credentials is supported.")
        asked = [name for name in form.get("scope", "").split(" ") if name]
        if any(name != SCOPE and not name.startswith("dpv:") for name in asked):
            return self._refuse(WRONG_SCOPE, f"Only {SCOPE} is supported.")
        return self._issue(request, form)

    def _issue(self, request: Request, form: Mapping[str, str]) -> HttpResponse:
        _user, secret = basic_credentials(request.META)
        if secret and form.get("client_secret"):
            return self._refuse(INVALID_REQUEST, "The client authenticates in two ways.")
        key = unquote_plus(secret) or form.get("client_secret", "")
        self.principal = checked(api_keys.find(key), request.META, Scope.VERIFY)
        self.count_request(request)
        body = {
            "access_token": access_tokens.issue(key),
            "token_type": "Bearer",
            "expires_in": access_tokens.LIFETIME,
            "scope": SCOPE,
        }
        return self.respond(Answer(200, body, HEADERS))

    def refuse(self, error: DomainError) -> HttpResponse:
        row = ERRORS.get(error.error)
        if row is None:
            return super().refuse(error)
        is_other_type = error.error is Error.UNSUPPORTED_MEDIA_TYPE
        response = self._refuse(row, NOT_A_FORM if is_other_type else " ".join(error.words))
        if row is INVALID_CLIENT and credentials(self.request.META, "Basic"):
            response["WWW-Authenticate"] = 'Basic realm="oauth2"'
        return response

    def _refuse(self, row: OAuthError, description: str) -> HttpResponse:
        body = {"error": row.error, "error_description": description}
        return self.respond(Answer(row.status, body, HEADERS))
