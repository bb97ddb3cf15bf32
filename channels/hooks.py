"""Vendors' calls to us: verify over the raw bytes, store, 200; a worker applies them later."""

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from channels import contacts, receipts, registry
from channels.providers.base import Inbound, InvalidSignatureError
from channels.providers.whatsapp_cloud import WhatsAppCloud

log = structlog.get_logger(__name__)


def _inbound(request: HttpRequest, provider: str) -> Inbound:
    query = request.META.get("QUERY_STRING", "")
    url = registry.hook_url(provider) + (f"?{query}" if query else "")
    return Inbound(url=url, headers=request.headers, body=request.body)


def _receive(request: HttpRequest, provider: str) -> HttpResponse:
    """Anything but 200 makes the vendor try again: only a bad signature and our own faults do."""
    if provider not in registry.live_providers():
        return HttpResponse(status=404)
    try:
        receipts.receive(provider, _inbound(request, provider))
    except InvalidSignatureError:
        log.warning("hook_refused", provider=provider)
        return HttpResponseForbidden()
    return HttpResponse()


@csrf_exempt
@require_http_methods(["GET", "POST"])
def whatsapp(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _receive(request, "whatsapp_cloud")
    provider = registry.live_providers().get("whatsapp_cloud")
    if not isinstance(provider, WhatsAppCloud):
        return HttpResponse(status=404)
    challenge = provider.handshake(request.GET.dict())
    if challenge is None:
        return HttpResponseForbidden()
    return HttpResponse(challenge, content_type="text/plain")


@csrf_exempt
@require_POST
def telegram_gateway(request: HttpRequest) -> HttpResponse:
    return _receive(request, "telegram_gateway")


@csrf_exempt
@require_POST
def twilio(request: HttpRequest) -> HttpResponse:
    return _receive(request, "twilio")


@csrf_exempt
@require_POST
def telegram_bot(request: HttpRequest) -> HttpResponse:
    try:
        contacts.receive(_inbound(request, "telegram_bot"))
    except InvalidSignatureError:
        log.warning("hook_refused", provider="telegram_bot")
        return HttpResponseForbidden()
    return HttpResponse()
