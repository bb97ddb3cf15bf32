"""The view of all vendors' webhooks: the provider verifies and reads the call, we store and answer.

A worker applies the stored receipts later. Updates of our Telegram bot are applied here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from channels.outcomes import receipts
from channels.phone_numbers import e164_or_none
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
from channels.providers.telegram_bot.provider import BotText
from channels.recipients import blocked_phones, telegram_contacts
from channels.tasks import send_telegram_reply
from channels.vendor_accounts import registry, vendor_alerts

REPLY_COOLDOWN = 10  # seconds between equal replies to one chat


def apply_bot_update(update: BotUpdate) -> None:
    match _as_command(update):
        case ContactShared(phone, chat_id, locale):
            number = e164_or_none(phone, settings.OPERATOR_COUNTRY) or phone
            telegram_contacts.share(phone=number, chat_id=chat_id)
            _reply(chat_id, locale, BotText.READY)
        case Started(chat_id, locale):
            _reply(
                chat_id,
                locale,
                BotText.READY if telegram_contacts.resume(chat_id) else BotText.SHARE,
            )
        case Stopped(chat_id, locale):
            telegram_contacts.stop(chat_id)
            _reply(chat_id, locale, BotText.STOPPED)
        case BotBlocked(chat_id, blocked=True):
            telegram_contacts.stop(chat_id)
        case BotBlocked(chat_id):
            telegram_contacts.resume(chat_id)


def _as_command(update: BotUpdate) -> BotUpdate:
    if isinstance(update, Said):
        if blocked_phones.is_stop(update.text):
            return Stopped(update.chat_id, update.locale)
        if blocked_phones.is_start(update.text):
            return Started(update.chat_id, update.locale)
    return update


def _reply(chat_id: int, locale: str, text: BotText) -> None:
    """At most one per cool-down: Telegram would throttle the bot for everybody."""
    if not _is_first(chat_id, text):
        return
    transaction.on_commit(partial(send_telegram_reply.delay, chat_id, locale, text.value))


def _is_first(chat_id: int, text: BotText) -> bool:
    return cache.add(f"bot-answer:{chat_id}:{text.value}", 1, REPLY_COOLDOWN)


log = structlog.get_logger(__name__)


WebhookView = Callable[..., HttpResponse]


def _as_http_status(hook: WebhookView) -> WebhookView:
    """Maps errors to a status. Any status but 200 makes the vendor retry: only a bad signature and
    our own faults may.
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
    """Handles any vendor's webhook, at the path that the vendor's folder gives it."""
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
    """As `request.headers`, which reads all of them before it looks one up."""

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
    """Hands on receipts, replies, the bot's updates and alerts.

    Safe to repeat, as vendors do. Receipts come first: they tell who hides behind a user id.
    """
    new = receipts.store(provider, batch)
    for events in batch:
        for reply in events.replies:
            blocked_phones.apply_reply(provider, reply)
        for update in events.bot_updates:
            apply_bot_update(update)
        if new or not events.receipts:  # the alerts of a repeat have been recorded
            for alert in dict.fromkeys(events.alerts):
                vendor_alerts.record(provider, alert)
