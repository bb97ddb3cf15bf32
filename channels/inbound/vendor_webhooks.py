"""The view of all vendors' webhooks: verify the raw bytes, store, answer 200.

A worker applies the stored receipts later.
"""

from collections.abc import Callable
from functools import wraps

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts.api.base_view import DATABASE_UNAVAILABLE, as_domain_error
from channels.inbound import telegram_updates
from channels.outcomes import receipts
from channels.providers.base import Provider
from channels.providers.inbound import InvalidSignatureError, WebhookRequest
from channels.recipients import opt_out
from channels.vendor_accounts import registry, vendor_alerts

log = structlog.get_logger(__name__)


def _inbound(request: HttpRequest, provider: str) -> WebhookRequest:
    query = request.META.get("QUERY_STRING", "")
    url = registry.hook_url(provider) + (f"?{query}" if query else "")
    return WebhookRequest(url=url, headers=request.headers, body=request.body)


WebhookView = Callable[..., HttpResponse]


def _as_http_status(hook: WebhookView) -> WebhookView:
    """Maps errors to a status. Any status but 200 makes the vendor retry: only a bad signature and
    our own faults may.
    """

    @wraps(hook)
    def view(request: HttpRequest, **path: str) -> HttpResponse:
        try:
            return hook(request, **path)
        except InvalidSignatureError:
            log.warning("vendor_webhook_refused", path=request.path)
            return HttpResponseForbidden()
        except DATABASE_UNAVAILABLE as error:
            return HttpResponse(status=as_domain_error(error).error.status)

    return view


@csrf_exempt
@require_http_methods(["GET", "POST"])
@_as_http_status
def vendor_webhook(request: HttpRequest, hook: str, account: str = "") -> HttpResponse:
    """Handles any vendor's webhook, at the path that `registry.VENDORS` gives it."""
    name = registry.account_at(hook, account)
    if name is None:
        return HttpResponse(status=404)
    provider = registry.live_providers()[name]
    if request.method == "GET":
        return _handshake(request, provider)
    call = _inbound(request, name)
    if provider.has_updates:
        telegram_updates.receive(call)
        return HttpResponse()
    new = receipts.receive(name, call)
    for reply in provider.replies(call):
        opt_out.apply_reply(name, reply)
    if not new and provider.receipts(call):
        return HttpResponse()  # a repeat: its alerts have been recorded
    for alert in dict.fromkeys(provider.alerts(call)):
        vendor_alerts.record(name, alert)
    return HttpResponse()


def _handshake(request: HttpRequest, provider: Provider) -> HttpResponse:
    if not provider.has_handshake:
        return HttpResponseNotAllowed(["POST"])
    challenge = provider.handshake(request.GET.dict())
    if challenge is None:
        return HttpResponseForbidden()
    return HttpResponse(challenge, content_type="text/plain")
