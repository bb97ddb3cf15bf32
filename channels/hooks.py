"""Vendors' calls to us: verify over the raw bytes, store, 200; a worker applies them later."""

from collections.abc import Callable
from functools import wraps

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from accounts.api import UNAVAILABLE, as_refusal
from channels import contacts, receipts, registry
from channels.providers.base import Inbound, InvalidSignatureError
from channels.providers.whatsapp_cloud import WhatsAppCloud

log = structlog.get_logger(__name__)


def _inbound(request: HttpRequest, provider: str) -> Inbound:
    query = request.META.get("QUERY_STRING", "")
    url = registry.hook_url(provider) + (f"?{query}" if query else "")
    return Inbound(url=url, headers=request.headers, body=request.body)


Hook = Callable[[HttpRequest], HttpResponse]


def _answered(hook: Hook) -> Hook:
    """Anything but 200 makes the vendor try again: only a bad signature and our own faults do."""

    @wraps(hook)
    def answer(request: HttpRequest) -> HttpResponse:
        try:
            return hook(request)
        except InvalidSignatureError:
            log.warning("hook_refused", path=request.path)
            return HttpResponseForbidden()
        except UNAVAILABLE as error:
            return HttpResponse(status=as_refusal(error).error.status)

    return answer


def _receive(request: HttpRequest, provider: str) -> HttpResponse:
    if provider not in registry.live_providers():
        return HttpResponse(status=404)
    receipts.receive(provider, _inbound(request, provider))
    return HttpResponse()


@csrf_exempt
@require_http_methods(["GET", "POST"])
@_answered
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
@_answered
def telegram_gateway(request: HttpRequest) -> HttpResponse:
    return _receive(request, "telegram_gateway")


@csrf_exempt
@require_POST
@_answered
def twilio(request: HttpRequest) -> HttpResponse:
    return _receive(request, "twilio")


@csrf_exempt
@require_POST
@_answered
def smsc(request: HttpRequest) -> HttpResponse:
    return _receive(request, "smsc")


@csrf_exempt
@require_POST
@_answered
def telegram_bot(request: HttpRequest) -> HttpResponse:
    contacts.receive(_inbound(request, "telegram_bot"))
    return HttpResponse()
