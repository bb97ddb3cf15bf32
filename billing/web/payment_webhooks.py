"""Webhooks of payment providers, verified over the raw bytes."""

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from api.base_view import DATABASE_UNAVAILABLE, as_domain_error
from billing.gateways import registry
from billing.gateways.base import (
    GatewayError,
    InvalidWebhookError,
    RefundEvent,
    StatementEvent,
    WebhookRequest,
)
from billing.models import StatementMark
from billing.orders import payments, refunds
from processes.server.client_ip import client_ip

log = structlog.get_logger(__name__)


@csrf_exempt
@require_POST
def receive(request: HttpRequest, gateway: str) -> HttpResponse:
    """Responds 200 once the event is applied; any other status makes the provider retry."""
    adapter = registry.find(gateway)
    if adapter is None:
        return HttpResponse(status=404)
    webhook = WebhookRequest(request.headers, request.body, client_ip(request.META) or "")
    try:
        event = adapter.parse_webhook(webhook)
        if isinstance(event, RefundEvent):
            refunds.apply_event(gateway, event)
        elif isinstance(event, StatementEvent):
            StatementMark.objects.filter(account=event.account).update(noticed_at=timezone.now())
        elif event is not None:
            payments.apply_event(gateway, event)
    except InvalidWebhookError:
        log.warning("payment_notice_refused", gateway=gateway)
        return HttpResponseForbidden()
    except GatewayError as error:
        log.warning("payment_notice_not_checked", gateway=gateway, error=str(error))
        return HttpResponse(status=503)
    except DATABASE_UNAVAILABLE as error:
        return HttpResponse(status=as_domain_error(error).error.status)
    return HttpResponse()
