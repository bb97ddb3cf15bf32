"""The view of all vendors' webhooks: the provider verifies and parses a call, the view stores it.

A worker applies the stored receipts later.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseNotAllowed
from django.http.request import HttpHeaders
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from api.base_view import DATABASE_UNAVAILABLE, as_domain_error
from channels import bot_updates
from channels.outcomes import inbound_receipts, transitions
from channels.providers.inbound import InboundEvents, InvalidWebhookError, WebhookRequest
from channels.recipients import blocked_phones
from channels.vendor_accounts import registry, vendor_alerts

log = structlog.get_logger(__name__)


WebhookView = Callable[..., HttpResponse]


def _as_http_status(hook: WebhookView) -> WebhookView:
    """Decorates the view: maps errors to a status.

    Any status but 200 makes the vendor retry: only a bad signature and our own faults may cause
    that.
    """

    @wraps(hook)
    def view(request: HttpRequest, **path: str) -> HttpResponse:
        try:
            return hook(request, **path)
        except InvalidWebhookError:
            log.warning("vendor_webhook_refused", path=request.path)
            return HttpResponseForbidden()
        except DATABASE_UNAVAILABLE as error:
            return HttpResponse(status=as_domain_error(error).error.status)

    return view


@csrf_exempt
@require_http_methods(["GET", "POST"])
@_as_http_status
def vendor_webhook(request: HttpRequest, hook: str, account: str = "") -> HttpResponse:
    """Handles any vendor's webhook, at the path set by the vendor's folder."""
    name = registry.account_at(hook, account)
    if name is None:
        return HttpResponse(status=404)
    provider = registry.live_providers()[name]
    if request.method == "GET" and not provider.has_handshake:
        return HttpResponseNotAllowed(["POST"])
    events = provider.parse_webhook(_call(request, name))
    if events.handshake is not None:
        return HttpResponse(events.handshake, content_type="text/plain")
    handle_events(name, [events])
    return HttpResponse()


def _call(request: HttpRequest, provider: str) -> WebhookRequest:
    query = request.META.get("QUERY_STRING", "")
    url = registry.hook_url(provider) + (f"?{query}" if query else "")
    return WebhookRequest(url, MetaHeaders(request.META), request.body, request.method or "")


class MetaHeaders(Mapping[str, str]):
    """Case-insensitive headers, looked up without building the whole mapping."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        self._meta = meta

    def __getitem__(self, name: str) -> str:
        value: str = self._meta[HttpHeaders.to_wsgi_name(name)]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(HttpHeaders(self._meta))

    def __len__(self) -> int:
        return len(HttpHeaders(self._meta))


def handle_events(provider: str, batch: Sequence[InboundEvents]) -> None:
    """Processes receipts, replies, the bots' updates and alerts.

    Safe to repeat, because vendors repeat calls. Receipts come first: they reveal the phone of a
    user id.
    """
    new = inbound_receipts.store(provider, batch)
    for events in batch:
        for reply in events.replies:
            transitions.end_blocked(blocked_phones.apply_reply(provider, reply))
        for update in events.bot_updates:
            bot_updates.apply(provider, update, events.updated_at)
        if new or not events.receipts:  # the alerts of a repeat are already recorded
            for alert in dict.fromkeys(events.alerts):
                vendor_alerts.record(provider, alert)
