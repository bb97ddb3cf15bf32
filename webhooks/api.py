"""The views of /webhooks: the endpoints of the key's company and mode."""

from datetime import timedelta
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from api.base_view import ApiResponse
from api.calls import body_of
from api.idempotent_view import IdempotentView
from api.pagination import Page, body_of_page
from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.ids import parse_id
from processes.server.client_ip import client_ip
from webhooks import deliveries, endpoints
from webhooks.calls import (
    CHANGE,
    CREATE,
    DELETE,
    DESCRIPTION,
    ENABLED,
    ENDPOINT,
    EVENTS,
    EXAMPLE_EVENT,
    EXAMPLE_TYPE,
    GET,
    LIST,
    NEW_URL,
    ROTATE,
    TEST,
    URL,
)
from webhooks.models import Endpoint

ENDPOINT_DISABLED = _("The endpoint is disabled: enable it with `enabled: true`")
CONFLICTING_KINDS = _("`type` and `event` name different events: give only one")


class _View(IdempotentView):
    def endpoint(self, public_id: str) -> Endpoint:
        endpoint_id = parse_id("whk", public_id)
        rows = Endpoint.objects.for_company(self.principal.company_id).filter(
            mode=self.principal.mode
        )
        endpoint = endpoint_id and rows.filter(pk=endpoint_id).select_related("company").first()
        if not endpoint:
            raise DomainError(Error.NOT_FOUND)
        return endpoint

    def with_secret(self, response: HttpResponse) -> HttpResponse:
        """Adds the secret, which is derived again and never stored with an idempotent response."""
        body = orjson.loads(response.content)
        endpoint_id = parse_id("whk", body.get("id", ""))
        if not body["success"] or endpoint_id is None:
            return response
        secret = endpoints.secret_of(Endpoint.objects.get(pk=endpoint_id))
        filled = ApiResponse(body | {"secret": secret}, response.status_code)
        if "Idempotent-Replayed" in response:
            filled["Idempotent-Replayed"] = response["Idempotent-Replayed"]
        return filled

    def actor(self, request: HttpRequest) -> dict[str, Any]:
        """The actor for the audit log: an API key, so no user."""
        return {"user": None, "ip": client_ip(request.META)}


class Webhooks(_View):
    calls = (LIST, CREATE)

    def get(self, request: HttpRequest) -> HttpResponse:
        rows = Endpoint.objects.for_company(self.principal.company_id).filter(
            mode=self.principal.mode
        )
        newest = rows.order_by("-created_at", "-id")  # MAX_ENDPOINTS at most: one page
        page = Page(list(newest), next_cursor=None)
        return ApiResponse(self.success(body_of_page(page, ENDPOINT.body_of)))

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        values = _requested_fields(RequestFields(payload), self.principal.scopes)

        def effect() -> dict[str, Any]:
            company = Company.objects.get(pk=self.principal.company_id)
            endpoint, _secret = endpoints.create(
                company=company, mode=self.principal.mode, **values, **self.actor(request)
            )
            return self.success(body_of(endpoint, ENDPOINT))

        return self.with_secret(self.once_atomic(self.idempotency_key(request, payload), effect))


class WebhookDetail(_View):
    calls = (GET, CHANGE, DELETE)

    def get(self, request: HttpRequest, public_id: str) -> HttpResponse:
        return ApiResponse(self.success(body_of(self.endpoint(public_id), ENDPOINT)))

    def patch(self, request: HttpRequest, public_id: str) -> HttpResponse:
        endpoint = self.endpoint(public_id)
        payload = self.payload(request)
        fields = RequestFields(payload)
        enabled = fields.boolean(ENABLED)
        scopes = self.principal.scopes
        changes = _requested_fields(fields, scopes, endpoint)
        endpoints.change(endpoint=endpoint, changes=changes, scopes=scopes, **self.actor(request))
        if enabled is not None:
            switch = endpoints.enable if enabled else endpoints.disable
            switch(endpoint=endpoint, **self.actor(request))
        return ApiResponse(self.success(body_of(endpoint, ENDPOINT)))

    def delete(self, request: HttpRequest, public_id: str) -> HttpResponse:
        endpoint = self.endpoint(public_id)
        endpoints.delete(endpoint=endpoint, **self.actor(request))
        return ApiResponse(self.success({"id": endpoint.public_id}))


class RotateWebhook(_View):
    calls = (ROTATE,)

    def post(self, request: HttpRequest, public_id: str) -> HttpResponse:
        payload = self.payload(request)
        endpoint = self.endpoint(public_id)
        key = self.idempotency_key(request, payload)
        # Without an idempotency key, a second call soon after the first counts as a repeat.
        repeats_within = endpoints.REPEAT_WINDOW if key is None else timedelta()

        def effect() -> dict[str, Any]:
            endpoints.rotate(
                endpoint=endpoint, repeats_within=repeats_within, **self.actor(request)
            )
            return self.success(body_of(endpoint, ENDPOINT))

        return self.with_secret(self.once_atomic(key, effect))


class TestWebhook(_View):
    """Sends an example event: the named kind, or the first kind the endpoint subscribes to."""

    __test__ = False
    calls = (TEST,)

    def post(self, request: HttpRequest, public_id: str) -> HttpResponse:
        payload = self.payload(request)
        endpoint = self.endpoint(public_id)
        kind = _requested_kind(RequestFields(payload)) or endpoint.kinds[0]
        if not endpoint.is_enabled:
            raise DomainError(Error.INVALID_INPUT, message=ENDPOINT_DISABLED)

        def effect() -> dict[str, Any]:
            delivery = deliveries.send_example(endpoint=endpoint, kind=kind)
            event_id = delivery.event.public_id
            body = {"id": delivery.public_id, "event_id": event_id, "type": kind, "event": kind}
            return self.success(body)

        return self.once_atomic(self.idempotency_key(request, payload), effect)


def _requested_kind(fields: RequestFields) -> str | None:
    """The kind given as `type`, as in events, or as `event`; both must agree."""
    kind = fields.text(EXAMPLE_TYPE)
    other_spelling = fields.text(EXAMPLE_EVENT)
    fields.check()
    if kind and other_spelling and kind != other_spelling:
        raise invalid_input(event=CONFLICTING_KINDS)
    return kind or other_spelling


def _requested_fields(
    fields: RequestFields, scopes: frozenset[str], stored: Endpoint | None = None
) -> dict[str, Any]:
    """The validated fields; for a PATCH of a stored endpoint only those present."""
    url = fields.text(NEW_URL if stored else URL)
    description = fields.text(DESCRIPTION)
    kinds = fields.payload.get(EVENTS.name)
    values: dict[str, Any] = {}
    if description is not None:
        values["description"] = description
    with fields.collecting():
        if stored is None or kinds is not None:
            values["kinds"] = endpoints.check_kinds(kinds, scopes, stored.kinds if stored else ())
    with fields.collecting():
        if url is not None:
            values["url"] = endpoints.check_url(url)
    fields.check()
    return values
