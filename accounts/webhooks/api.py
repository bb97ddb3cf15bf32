"""/webhooks: the endpoints of the key's company and mode."""

from typing import Any

import orjson
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.api.base_view import ApiResponse
from accounts.api.idempotent_view import IdempotentView
from accounts.api.request_fields import Fields
from accounts.client_ip import client_ip
from accounts.models import Company, Endpoint, EventKind, Scope
from accounts.webhooks import deliveries, endpoints
from config.errors import DomainError, Error, invalid_input
from config.ids import parse_id

WORDS = {
    "list": _("Webhook endpoints"),
    "one": _("Webhook endpoint"),
    "created": _("The endpoint was added. Keep the secret: it is shown once"),
    "changed": _("The changes were saved"),
    "deleted": _("The endpoint was deleted"),
    "rotated": _("The new secret is ready; the old one signs for a day more"),
    "example": _("An example is on its way"),
}
ENDPOINT_DISABLED = _("The endpoint is off: switch it on by enabled: true")
CONFLICTING_KINDS = _("type and event name different events: give one")
NOT_BOOLEAN = _("Must be true or false")


class _View(IdempotentView):
    scope = Scope.WEBHOOKS

    def endpoint(self, public_id: str) -> Endpoint:
        endpoint_id = parse_id("whk", public_id)
        own = Endpoint.objects.of(self.principal.company_id).filter(mode=self.principal.mode)
        found = endpoint_id and own.filter(pk=endpoint_id).select_related("company").first()
        if not found:
            raise DomainError(Error.NOT_FOUND)
        return found

    def answer(self, words: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"success": True, "message": WORDS[words], **body}

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

    def by(self, request: Request) -> dict[str, Any]:
        """The actor for the audit log: an API key, so no user."""
        return {"user": None, "ip": client_ip(request.META)}


class Webhooks(_View):
    parameters = ()

    def get(self, request: Request) -> HttpResponse:
        own = Endpoint.objects.of(self.principal.company_id).filter(mode=self.principal.mode)
        found = own.order_by("-created_at", "-id")  # MAX_ENDPOINTS at most: one page
        body = {"data": [serialize(one) for one in found], "has_more": False, "next_cursor": None}
        return ApiResponse(self.answer("list", body))

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        wanted = _requested_fields(payload, is_new=True)

        def effect() -> dict[str, Any]:
            company = Company.objects.get(pk=self.principal.company_id)
            endpoint, _secret = endpoints.create(
                company=company, mode=self.principal.mode, **wanted, **self.by(request)
            )
            return self.answer("created", serialize(endpoint))

        return self.with_secret(self.once_atomic(self.idempotency_key(request, payload), effect))


class WebhookDetail(_View):
    def get(self, request: Request, public_id: str) -> HttpResponse:
        return ApiResponse(self.answer("one", serialize(self.endpoint(public_id))))

    def patch(self, request: Request, public_id: str) -> HttpResponse:
        endpoint = self.endpoint(public_id)
        payload = self.payload(request)
        wanted, enabled = _requested_fields(payload, is_new=False), _enabled(payload)
        endpoints.change(endpoint=endpoint, changes=wanted, **self.by(request))
        if enabled is not None:
            switch = endpoints.enable if enabled else endpoints.disable
            switch(endpoint=endpoint, **self.by(request))
        return ApiResponse(self.answer("changed", serialize(endpoint)))

    def delete(self, request: Request, public_id: str) -> HttpResponse:
        endpoint = self.endpoint(public_id)
        endpoints.delete(endpoint=endpoint, **self.by(request))
        return ApiResponse(self.answer("deleted", {"id": endpoint.public_id}))


class RotateWebhook(_View):
    def post(self, request: Request, public_id: str) -> HttpResponse:
        payload = self.payload(request)
        endpoint = self.endpoint(public_id)

        def effect() -> dict[str, Any]:
            endpoints.rotate(endpoint=endpoint, **self.by(request))
            return self.answer("rotated", serialize(endpoint))

        return self.with_secret(self.once_atomic(self.idempotency_key(request, payload), effect))


class TestWebhook(_View):
    """Sends an example event: the named kind, or the first kind the endpoint subscribes to."""

    __test__ = False

    def post(self, request: Request, public_id: str) -> HttpResponse:
        payload = self.payload(request)
        endpoint = self.endpoint(public_id)
        fields = Fields(payload)
        kind = _kind(fields) or endpoint.kinds[0]
        if not endpoint.is_enabled:
            raise DomainError(Error.INVALID_INPUT, message=ENDPOINT_DISABLED)

        def effect() -> dict[str, Any]:
            delivery = deliveries.send_example(endpoint=endpoint, kind=kind)
            event_id = delivery.event.public_id
            body = {"id": delivery.public_id, "event_id": event_id, "type": kind, "event": kind}
            return self.answer("example", body)

        return self.once_atomic(self.idempotency_key(request, payload), effect)


def _kind(fields: Fields) -> str | None:
    """The kind given as `type`, as in events, or as `event`; both must agree."""
    names = {name: fields.choice(name, list(EventKind.values)) for name in ("type", "event")}
    fields.check()
    if None not in names.values() and names["type"] != names["event"]:
        raise invalid_input(event=CONFLICTING_KINDS)
    return names["type"] or names["event"]


def serialize(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": endpoint.public_id,
        "url": endpoint.url,
        "events": endpoint.kinds,
        "description": endpoint.description or None,
        "enabled": endpoint.is_enabled,
        "disabled_reason": endpoint.disabled_reason or None,
        "test": endpoint.mode == "test",
        "created_at": endpoint.created_at,
        "last_success_at": endpoint.last_success_at,
        "failing_since": endpoint.failing_since,
        "old_secret_until": endpoint.previous_until if endpoint.is_rotating else None,
    }


def _requested_fields(payload: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
    """The validated fields; for a PATCH only those present."""
    fields = Fields(payload)
    url = fields.text("url", required=is_new, longest=10_000)
    description = fields.text("description", longest=endpoints.DESCRIPTION_LENGTH)
    fields.check()
    wanted: dict[str, Any] = {}
    if url is not None:
        wanted["url"] = endpoints.check_url(url)
    if description is not None:
        wanted["description"] = description
    if is_new or payload.get("events") is not None:
        wanted["kinds"] = endpoints.check_kinds(payload.get("events"))
    return wanted


def _enabled(payload: dict[str, Any]) -> bool | None:
    fields = Fields(payload)
    value = payload.get("enabled")
    if value is not None and not isinstance(value, bool):
        fields.fault("enabled", NOT_BOOLEAN)
    fields.check()
    return value
