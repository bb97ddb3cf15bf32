"""The view of all vendors' webhooks: the provider verifies and parses the call, we store and
answer.

A worker applies the stored receipts later. Updates of our bots are applied here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial, wraps
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseNotAllowed
from django.http.request import HttpHeaders
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from api.base_view import DATABASE_UNAVAILABLE, as_domain_error
from channels.outcomes import inbound_receipts, transitions
from channels.phone_numbers import e164_or_none
from channels.providers.bot import BotText
from channels.providers.inbound import (
    BotBlocked,
    BotUpdate,
    ContactShared,
    InboundEvents,
    InvalidWebhookError,
    Said,
    Started,
    Stopped,
    WebhookRequest,
)
from channels.recipients import blocked_phones, contacts
from channels.tasks import send_bot_reply
from channels.vendor_accounts import registry, vendor_alerts
from storage import atomic_limits

REPLY_COOLDOWN = 10  # seconds between equal replies to one chat
REQUEST_LIFETIME = 7 * 86400  # seconds in which a contact may answer the bot's request


def apply_bot_update(provider: str, update: BotUpdate, at: datetime | None) -> None:
    reply = partial(_reply, provider, update.chat_id)
    match _as_command(update):
        case ContactShared(chat_id=chat_id, locale=locale, needs_request=True) if not cache.get(
            _request_key(provider, chat_id)
        ):
            reply(locale, BotText.SHARE)
        case ContactShared(phone, chat_id, locale):
            number = e164_or_none(phone, settings.OPERATOR_COUNTRY) or phone
            if contacts.store_contact(provider, phone=number, chat_id=chat_id, at=at):
                reply(locale, BotText.READY)
        case Started(chat_id, locale):
            is_known = contacts.resume(provider, chat_id, at)
            reply(locale, BotText.READY if is_known else BotText.SHARE)
        case Stopped(chat_id, locale):
            contacts.stop(provider, chat_id, at)
            reply(locale, BotText.STOPPED)
        case BotBlocked(chat_id, blocked=True):
            contacts.stop(provider, chat_id, at)
        case BotBlocked(chat_id):
            contacts.resume(provider, chat_id, at)


def _as_command(update: BotUpdate) -> BotUpdate:
    if isinstance(update, Said):
        if blocked_phones.is_stop(update.text):
            return Stopped(update.chat_id, update.locale)
        if blocked_phones.is_start(update.text):
            return Started(update.chat_id, update.locale)
    return update


def _reply(provider: str, chat_id: int, locale: str, text: BotText) -> None:
    """Replies at most once per cool-down: the messenger would throttle the bot for everybody."""
    if text is BotText.SHARE:
        cache.set(_request_key(provider, chat_id), 1, REQUEST_LIFETIME)
    if not cache.add(f"bot-answer:{_chat(provider, chat_id)}:{text.value}", 1, REPLY_COOLDOWN):
        return
    transaction.on_commit(partial(send_bot_reply.delay, provider, chat_id, locale, text.value))


def _request_key(provider: str, chat_id: int) -> str:
    return f"bot-request:{_chat(provider, chat_id)}"


def _chat(provider: str, chat_id: int) -> str:
    """The chat without the person's id, which outlives an erasure in the cache."""
    return atomic_limits.hashed(f"{provider}:{chat_id}")


log = structlog.get_logger(__name__)


WebhookView = Callable[..., HttpResponse]


def _as_http_status(hook: WebhookView) -> WebhookView:
    """Maps errors to a status. Any status but 200 makes the vendor retry: only a bad signature and
    our own faults may cause that.
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
            apply_bot_update(provider, update, events.updated_at)
        if new or not events.receipts:  # the alerts of a repeat are already recorded
            for alert in dict.fromkeys(events.alerts):
                vendor_alerts.record(provider, alert)
