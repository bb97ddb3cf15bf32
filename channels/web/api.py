"""GET /messages, /messages/{id}, /channels and /test/messages."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import Prefetch
from django.http import HttpResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.api import pagination
from accounts.api.base_view import ApiResponse, ApiView
from accounts.api.query_params import PAGING, PERIOD, time_of
from accounts.models import Scope
from channels import extensions, phone_numbers
from channels.history import test_phone
from channels.models import Attempt, FallbackEvent, Message, MessageQuerySet, Receipt
from channels.providers.base import Content
from channels.vendor_accounts import availability, registry
from config.channels import BY_NAME, CHANNELS, Channel
from config.errors import DomainError, Error, invalid_input
from config.ids import parse_id

WORDS = {
    "messages": _("Message history"),
    "message": _("Message"),
    "channels": _("Channels"),
    "test": _("Messages of test keys"),
}
FILTERS = ("phone", "channel", "status", "kind", *PERIOD, *PAGING)
TEST_KEYS_ONLY = _("For test keys only")


class Messages(ApiView):
    scope = Scope.MESSAGES
    parameters = FILTERS

    def get(self, request: Request) -> HttpResponse:
        query = request.query_params
        page = pagination.page_of(
            filter_messages(_own_messages(self), query, self.principal.country), query
        )
        return ApiResponse(
            {
                "success": True,
                "message": WORDS["messages"],
                "data": [summary(message) for message in page.rows],
                "has_more": page.next_cursor is not None,
                "next_cursor": page.next_cursor,
            }
        )


class MessageDetail(ApiView):
    scope = Scope.MESSAGES

    def get(self, request: Request, public_id: str) -> HttpResponse:
        message_id = parse_id("msg", public_id)
        if message_id is None:
            raise DomainError(Error.NOT_FOUND)
        attempts = Attempt.objects.order_by("n").prefetch_related(
            Prefetch("receipts", Receipt.objects.order_by("received_at", "id"))
        )
        message = (
            _own_messages(self)
            .filter(pk=message_id)
            .prefetch_related(
                Prefetch("attempts", attempts),
                Prefetch("fallback_events", FallbackEvent.objects.order_by("id")),
            )
            .first()
        )
        if message is None:
            raise DomainError(Error.NOT_FOUND)
        return ApiResponse(
            {
                "success": True,
                "message": WORDS["message"],
                **summary(message),
                "timeline": [_attempt(attempt) for attempt in message.attempts.all()],
                "opened_at": extensions.opened_at(message),
                "fallback": [_fallback_event(event) for event in message.fallback_events.all()],
            }
        )


class Channels(ApiView):
    parameters = ()

    def get(self, request: Request) -> HttpResponse:
        return ApiResponse(
            {
                "success": True,
                "message": WORDS["channels"],
                "data": [_channel(channel, self.principal.mode) for channel in CHANNELS],
            }
        )


class TestMessages(ApiView):
    """A test key's messages as the phone would show them, with the code."""

    __test__ = False
    scope = Scope.MESSAGES
    parameters = FILTERS

    def get(self, request: Request) -> HttpResponse:
        if not self.principal.is_test:
            raise DomainError(Error.FORBIDDEN, message=TEST_KEYS_ONLY)
        query = request.query_params
        page = pagination.page_of(
            filter_messages(_own_messages(self), query, self.principal.country), query
        )
        return ApiResponse(
            {
                "success": True,
                "message": WORDS["test"],
                "data": [_as_on_phone(message) for message in page.rows],
                "has_more": page.next_cursor is not None,
                "next_cursor": page.next_cursor,
            }
        )


def _own_messages(view: ApiView) -> MessageQuerySet:
    return Message.objects.filter(company_id=view.principal.company_id, mode=view.principal.mode)


def filter_messages(
    messages: MessageQuerySet, query: Mapping[str, str], country: str
) -> MessageQuerySet:
    """Filters by phone in any format, channel, status, kind and time (`from` ≤ created < `to`)."""
    if query.get("phone"):
        messages = messages.filter(phone=phone_numbers.normalise(query["phone"], country))
    for name, field, allowed in (
        ("channel", "channel", list(BY_NAME)),
        ("status", "state", Message.State.values),
        ("kind", "kind", Message.Kind.values),
    ):
        value = query.get(name)
        if value and value not in allowed:
            choices = ", ".join(allowed)
            raise invalid_input(**{name: format_lazy(_("Allowed: {choices}"), choices=choices)})
        if value:
            messages = messages.filter(**{field: value})
    if query.get("from"):
        messages = messages.filter(created_at__gte=time_of("from", query["from"]))
    if query.get("to"):
        messages = messages.filter(created_at__lt=time_of("to", query["to"]))
    return messages


def summary(message: Message) -> dict[str, Any]:
    return {
        "id": message.public_id,
        "kind": message.kind,
        "phone": message.phone,
        "channel": message.channel,
        "status": message.state,
        "error": message.error or None,
        "cost": message.price,
        "segments": message.segments if BY_NAME[message.channel].has_segments else None,
        "short_url": message.params.get("short_url"),
        "test": message.mode == "test",
        "request_id": message.request_id,
        "created_at": message.created_at,
        "sent_at": message.sent_at,
        "delivered_at": message.delivered_at,
        "read_at": message.read_at,
        "finished_at": message.finished_at,
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "channel": attempt.channel,
        "provider": attempt.provider,
        "status": attempt.state,
        "error_code": attempt.error_code or None,
        "started_at": attempt.started_at,
        "accepted_at": attempt.accepted_at,
        "finished_at": attempt.finished_at,
        "receipts": [
            {
                "status": "failed" if receipt.state == "unreachable" else receipt.state,
                "provider_status": receipt.word,
                "error_code": receipt.error_code or None,
                "at": receipt.at,
                "received_at": receipt.received_at,
            }
            for receipt in attempt.receipts.all()
        ],
    }


def _fallback_event(event: FallbackEvent) -> dict[str, Any]:
    return {"event": event.reason, "channel": event.channel, "at": event.at}


def _channel(channel: Channel, mode: str) -> dict[str, Any]:
    contents = [content for content in Content if registry.carries(channel, content, mode)]
    return {
        "channel": channel.name,
        "name": str(channel.title),
        "price": settings.PRICES[channel.name],
        "available": any(availability.has_account(channel, content, mode) for content in contents),
        "capabilities": [content.value for content in contents],
    }


def _as_on_phone(message: Message) -> dict[str, Any]:
    text, code = test_phone.render(message)
    return {
        "id": message.public_id,
        "kind": message.kind,
        "phone": message.phone,
        "channel": message.channel,
        "status": message.state,
        "text": text,
        "code": code,
        "short_url": message.params.get("short_url"),
        "created_at": message.created_at,
    }
