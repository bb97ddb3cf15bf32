"""GET /openapi.json: the OpenAPI schema, generated from the declared calls, like the pages."""

from functools import cache
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from api.base_view import ApiResponse, ApiView
from api.calls import REQUEST_ID, Call, Field, Schema, boolean, example_of, text
from api.request_fields import REQUIRED
from api.unknown_fields import WARNINGS
from api_docs.calls import CALLS
from api_docs.schema import headers, webhook_events
from api_docs.schema.components import Components, reference
from api_docs.schema.errors import EXTRAS
from api_docs.schema.webhook_events import payload_shape
from catalogue.channels import join_titles
from catalogue.errors import Error
from catalogue.languages import page_languages
from catalogue.texts import StrOrPromise
from channels.phone_numbers import NOT_A_PHONE
from links.addresses.target_urls import IP_ADDRESS
from webhooks.events import declarations

PREFIX = "/api/v1"

# Tags in the order of the pages. They are the same in every language, because client generators
# name classes and files after them. A call's tag is its scope, or `channels` without a scope.
NO_SCOPE = "channels"
EVENTS = "events"
TAGS: dict[str, tuple[StrOrPromise, StrOrPromise]] = {
    "otp": (_("Codes"), _("Send a one-time code and verify it.")),
    "links": (_("Links"), _("Create and send short links and count clicks.")),
    "messages": (_("History"), _("Messages that were sent, and their statuses.")),
    NO_SCOPE: (_("Channels"), _("Prices and capabilities.")),
    "policy": (_("Policy"), _("Which channels carry messages, by country and purpose.")),
    "balance": (_("Balance"), _("The company's token balance.")),
    "top_up": (_("Top-up"), _("Buy tokens.")),
    "webhooks": (_("Webhooks"), _("Endpoints that receive events.")),
    EVENTS: (_("Events"), _("What the service posts to those endpoints.")),
    "persons": (_("Personal data"), _("Export and erase what is stored about a person.")),
}
DESCRIPTION = _(
    "One-time codes and short links by {channels}. Only delivered messages are "
    "charged.\n\nEvery response is JSON with `success` and `message`. Unknown request fields are "
    "ignored and named in `warnings`, new response fields may appear."
)
KEY_TEXT = _("An API key created in the cabinet: `kv_test_…` or `kv_live_…`.")
IDEMPOTENCY_TEXT = _(
    "A unique key for this request, up to 255 ASCII characters. Repeating the request "
    "with the same key within 24 hours returns the same response without performing the "
    "action again."
)
STRICT_TEXT = _(
    "`1`: refuse a request with unknown fields, with `invalid_input`, instead of naming them in "
    "`warnings`."
)
LANGUAGE_TEXT = _("The language of `message`: Russian unless `en` is requested.")


class OpenApi(ApiView):
    def check_access(self, request: HttpRequest) -> None:
        """Allows every caller: the schema is public."""

    def get(self, request: HttpRequest) -> HttpResponse:
        language = request.GET.get("lang")
        return ApiResponse(
            rendered(language if language in page_languages.codes() else page_languages.active())
        )


@cache
def rendered(language: str) -> str:
    with translation.override(language):
        return orjson.dumps(document()).decode()


def document() -> Schema:
    """The OpenAPI document in the active language."""
    contact = {"name": "Kvitok", "url": f"{settings.PUBLIC_URL}/docs"}
    paths: dict[str, dict[str, Schema]] = {}
    for call in sorted(CALLS, key=_by_path):
        paths.setdefault(call.path, {})[call.method.lower()] = operation(call)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Kvitok API",
            "version": "1",
            "license": {"name": "MIT", "identifier": "MIT"},
            "description": str(DESCRIPTION).format(channels=join_titles()),
            "contact": contact,
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "headers": headers.components(),
            "securitySchemes": {
                "apiKey": {"type": "http", "scheme": "bearer", "description": str(KEY_TEXT)}
            },
        },
        "tags": [
            {"name": name, "x-displayName": str(title), "description": str(text)}
            for name, (title, text) in TAGS.items()
        ],
        "servers": [{"url": settings.PUBLIC_URL + PREFIX}],
        "webhooks": webhook_events.posts(EVENTS),
    }


def _by_path(call: Call) -> tuple[str, int]:
    return call.path, ApiView.http_method_names.index(call.method.lower())


def operation(call: Call) -> dict[str, Any]:
    operation = {
        "operationId": call.name,
        "summary": str(call.title),
        "description": str(call.description),
        "tags": [call.scope.value if call.scope else NO_SCOPE],
        "security": [{"apiKey": []}],
        "externalDocs": {"url": f"{settings.PUBLIC_URL}/docs/{call.page}"},
        "parameters": parameters(call),
        "responses": responses(call),
    }
    if call.has_body:
        operation["requestBody"] = request_body(call)
    return operation


def parameters(call: Call) -> list[Schema]:
    names = [part[1:-1] for part in call.path.split("/") if part.startswith("{")]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in names
    ]
    parameters += [_in_query(field) for field in call.query or ()]
    parameters.append(_header("Accept-Language", LANGUAGE_TEXT, {"type": "string"}))
    if call.has_body:
        parameters.append(_header("Kvitok-Strict", STRICT_TEXT, {"type": "string"}))
    if call.method == "POST":
        limits = {"type": "string", "minLength": 1, "maxLength": 255}
        parameters.append(_header("Idempotency-Key", IDEMPOTENCY_TEXT, limits))
    return parameters


def _in_query(field: Field) -> Schema:
    schema = Components().value_of(field.schema)
    text = str(field.description)
    return {"name": field.name, "in": "query", "description": text, "schema": schema}


def _header(name: str, text: StrOrPromise, schema: Schema) -> Schema:
    return {"name": name, "in": "header", "description": str(text), "schema": schema}


def request_body(call: Call) -> Schema:
    media: Schema = {"schema": Components().request(call)}
    if call.body:
        media["example"] = call.request_example()
    is_required = bool(call.one_of) or any(field.required for field in call.body)
    return {"required": is_required, "content": {"application/json": media}}


def responses(call: Call) -> dict[str, Schema]:
    by_status: dict[str, list[Error]] = {}
    for error in call.errors:
        by_status.setdefault(str(error.status.value), []).append(error)
    refused = {status: _refusal_response(call, errors) for status, errors in by_status.items()}
    return {"200": _success(call)} | refused


def _success(call: Call) -> Schema:
    return {
        "description": str(call.message),
        "headers": headers.of_success(call),
        "content": {
            "application/json": {
                "schema": Components().response(call),
                "example": call.response_example(),
            }
        },
    }


def _refusal_response(call: Call, errors: list[Error]) -> Schema:
    return {
        "description": " · ".join(error.code for error in errors),
        "headers": headers.of_refusals(call, errors),
        "content": {
            "application/json": {
                "schema": reference("Error"),
                "examples": {error.code: {"value": refusal_example(error)} for error in errors},
            }
        },
    }


KNOWN_CODES = [error.code for error in Error]
_KNOWN = ", ".join(f"`{code}`" for code in KNOWN_CODES)
_FAULTS = {
    Error.INVALID_INPUT: {"phone": [REQUIRED]},
    Error.INVALID_PHONE: {"phone": [NOT_A_PHONE]},
    Error.URL_NOT_ALLOWED: {"url": [IP_ADDRESS]},
}
_MESSAGES = {Error.URL_NOT_ALLOWED: IP_ADDRESS}  # errors whose message names the fault


def refusal_example(error: Error) -> dict[str, Any]:
    extra = error.extra_fields
    body: dict[str, Any] = {
        "success": False,
        "code": error.code,
        "message": str(_MESSAGES.get(error, error.message)),
    }
    body |= example_of(tuple(field for field in EXTRAS if field.name in extra))
    if "errors" in extra:
        faults = _FAULTS[error]
        body["errors"] = {name: [str(text) for text in texts] for name, texts in faults.items()}
    return body | {"request_id": REQUEST_ID.example}


def schemas() -> dict[str, Schema]:
    """All components: of calls, of events, and the envelope."""
    components = Components()
    components.add("Envelope", components.object_of(envelope()))
    components.add("Error", components.object_of(error_fields()))
    for call in CALLS:
        for field in call.query or ():
            components.value_of(field.schema)
        if call.has_body:
            components.request(call)
        components.response(call)
    for declaration in declarations():
        components.object_of(payload_shape(declaration))
    return components.schemas


def error_fields() -> tuple[Field, ...]:
    code = Field(
        "code",
        {"type": "string", "pattern": "^[a-z][a-z_]*$", "x-extensible-enum": KNOWN_CODES},
        format_lazy(
            _(
                "The error code; base your handling on it. Currently one of {codes}. New codes "
                "may be"
                " added: handle an unknown code by the HTTP status."
            ),
            codes=_KNOWN,
        ),
    )
    request_id = Field("request_id", REQUEST_ID.schema, _("The request's id."))
    return envelope(code, request_id, *(field.optional() for field in EXTRAS))


def envelope(*fields: Field) -> tuple[Field, ...]:
    # No `const`: generators for Python and Java would use it as the value.
    success = Field("success", boolean(), _("Whether the request succeeded."))
    message = Field("message", text(), _("A human-readable description of the result."))
    return (success, message, *fields, WARNINGS)
