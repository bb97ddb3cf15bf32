"""GET /messages, /messages/{id}, /channels, /lookup/{phone} and /test/messages."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.masked_phones import mask_phone
from accounts.people import countries
from api import pagination
from api.base_view import ApiView
from api.calls import body_of
from api.request_fields import QueryFields
from billing import message_prices
from billing.wallet import archived
from catalogue.channels import CHANNELS, Channel
from catalogue.errors import DomainError, Error
from catalogue.ids import parse_id
from channels import phone_numbers
from channels.history import messages, phone_screens
from channels.models import Attempt, FallbackEvent, Message, MessageQuerySet, Receipt, stored_fields
from channels.providers.base import Content
from channels.routing.lookup import look_up
from channels.vendor_accounts import availability, registry
from channels.web.calls import (
    CHANNEL_REACH,
    CREATED_FROM,
    CREATED_TO,
    FILTERS,
    GET_MESSAGE,
    IN_COUNTRY,
    LIST_CHANNELS,
    LIST_MESSAGES,
    LOOK_UP,
    LOOKUP_PURPOSE,
    NOT_A_COUNTRY,
    TEST_MESSAGES,
    WITH_PHONE,
    WITH_STATUS,
)
from channels.web.fields import DEFAULT_PURPOSE
from channels.web.message_fields import MESSAGE, MESSAGE_DETAILS, TEST_MESSAGE

TEST_KEYS_ONLY = _("For test keys only")


class Messages(ApiView):
    calls = (LIST_MESSAGES,)

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.respond(_list(self, request.GET, MESSAGE.body_of))


class MessageDetail(ApiView):
    calls = (GET_MESSAGE,)

    def get(self, request: HttpRequest, public_id: str) -> HttpResponse:
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
            raise _not_found(message_id)
        return self.respond(body_of(message, MESSAGE_DETAILS))


class Channels(ApiView):
    calls = (LIST_CHANNELS,)

    def get(self, request: HttpRequest) -> HttpResponse:
        query = QueryFields(request.GET)
        country = (query.text(IN_COUNTRY) or "").upper()
        if country and country not in countries.CODES:
            query.add_error(IN_COUNTRY, NOT_A_COUNTRY)
        query.check()
        data = [_channel(channel, self.principal.mode, country) for channel in CHANNELS]
        return self.respond({"data": data})


class Lookup(ApiView):
    calls = (LOOK_UP,)

    def get(self, request: HttpRequest, phone: str) -> HttpResponse:
        query = QueryFields(request.GET)
        purpose = query.text(LOOKUP_PURPOSE) or DEFAULT_PURPOSE
        query.check()
        number = phone_numbers.normalise(phone, self.principal.country)
        self.phone = mask_phone(number)
        phone_info = look_up(self.principal, number, purpose)
        body = {
            "phone": phone_info.phone,
            "country": phone_info.country or None,
            "type": phone_info.type,
            "channels": [CHANNEL_REACH.body_of(reach) for reach in phone_info.channels],
        }
        return self.respond(body)


class TestMessages(ApiView):
    """A test key's messages as the phone would show them, with the code."""

    __test__ = False
    calls = (TEST_MESSAGES,)

    def get(self, request: HttpRequest) -> HttpResponse:
        if not self.principal.is_test:
            raise DomainError(Error.FORBIDDEN, message=TEST_KEYS_ONLY)
        return self.respond(_list(self, request.GET, _as_on_phone))


def _not_found(message_id: UUID) -> DomainError:
    since = archived.first_kept_day_after(message_id)
    if since is None:
        return DomainError(Error.NOT_FOUND)
    text = gettext("Messages before %(day)s are archived") % {"day": since.isoformat()}
    return DomainError(Error.NOT_FOUND, message=text)


def _own_messages(view: ApiView) -> MessageQuerySet:
    return Message.objects.filter(company_id=view.principal.company_id, mode=view.principal.mode)


def _list(
    view: ApiView, query: Mapping[str, str], body_of_row: Callable[[Message], dict[str, Any]]
) -> dict[str, Any]:
    """The body of a list of messages.

    Filters are the phone in any format, the stored fields, channel, status, kind, and the time of
    acceptance (`from` ≤ created < `to`).
    """
    params = QueryFields(query)
    phone = params.text(WITH_PHONE)
    state = params.text(WITH_STATUS)
    start, end = params.time(CREATED_FROM), params.time(CREATED_TO)
    texts = {
        field.name: value for field in stored_fields.FIELDS if (value := params.text(field.filter))
    }
    exact = [field for field in FILTERS if field.name in messages.EXACT_FILTERS]
    filters = {field.name: value for field in exact if (value := params.text(field))}
    params.check()
    history = _own_messages(view)
    if start:
        history = history.filter(created_at__gte=start)
    if end:
        history = history.filter(created_at__lt=end)
    rows = history.filter(**filters).with_stored(texts)
    if state:
        rows = messages.in_state(rows, state)
    if phone:
        rows = messages.with_phone(rows, phone_numbers.normalise(phone, view.principal.country))
    has_index = phone or texts or not (filters or state)
    searched = None if has_index else messages.possible_in_state(history, state or "")
    return pagination.list_body(
        rows, query, body_of_row, company_id=view.principal.company_id, history=searched
    )


def _channel(channel: Channel, mode: str, country: str) -> dict[str, Any]:
    contents = [content for content in Content if registry.carries(channel, content, mode)]
    return {
        "channel": channel.name,
        "name": str(channel.title),
        "price": message_prices.price_of(channel.name, country),
        "available": any(availability.has_account(channel, content, mode) for content in contents),
        "capabilities": [content.value for content in contents],
    }


def _as_on_phone(message: Message) -> dict[str, Any]:
    text, code = phone_screens.render(message)
    stored = tuple(field for field in TEST_MESSAGE if field.name not in {"text", "code"})
    return body_of(message, stored) | {"text": text, "code": code}
