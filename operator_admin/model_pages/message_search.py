"""The operator's message search by phone, our ids or the provider's id, always with an index."""

from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from catalogue.ids import parse_id, uuid_or_none
from channels.history.messages import of_request
from channels.models import Attempt, Message, Part
from channels.recipients import phone_search
from channels.vendor_accounts import error_texts
from channels.vendor_accounts.registry import hosted_providers, test_providers

MAX_FOUND = 500


def search_messages(rows: QuerySet[Message], text: str) -> QuerySet[Message]:
    text = text.strip()
    if not text:
        return rows
    if (by_id := _by_own_id(rows, text)) is not None:
        return by_id
    if number := phone_search.whole_number(text, settings.OPERATOR_COUNTRY):
        # In the index's order: otherwise PostgreSQL may scan the primary key for the phone.
        newest = Message.objects.filter(phone=number).order_by("-created_at")
        if ids := list(newest.values_list("pk", flat=True)[:MAX_FOUND]):
            return rows.filter(pk__in=ids)
        return rows.filter(pk__in=_by_provider_id(text))
    if (phone := phone_matches(text)) is not None:
        by_phone = rows.filter(phone)
        return by_phone if by_phone.exists() else rows.filter(pk__in=_by_provider_id(text))
    return rows.filter(pk__in=_by_provider_id(text))


def newest_ids(text: str, field: str) -> list[UUID]:
    """Ids of the messages that this text finds, newest first."""
    rows = search_messages(Message.objects.all(), text).order_by("-pk")
    return list(rows.values_list(field, flat=True)[:MAX_FOUND])


def _by_own_id(rows: QuerySet[Message], text: str) -> QuerySet[Message] | None:
    if (message_id := parse_id("msg", text)) is not None:
        return rows.filter(pk=message_id)
    if text.startswith("req_"):
        return rows.filter(of_request(text))
    if (uuid := uuid_or_none(text.partition("_")[2] or text)) is not None:
        by_attempt = Attempt.objects.filter(pk=uuid).values("message")
        return rows.filter(Q(pk=uuid) | Q(subject_id=uuid) | Q(pk__in=by_attempt))
    return None


def _by_provider_id(text: str) -> list[UUID]:
    """The ids of messages with this provider's id.

    They are queried first: with a subquery PostgreSQL would scan the table.
    """
    providers = [*error_texts.PROVIDERS, *test_providers()]  # the first column of the index
    by_attempt = Attempt.objects.filter(provider__in=providers, provider_id=text)
    by_part = Part.objects.filter(provider__in=list(hosted_providers()), provider_id=text)
    return [
        *by_attempt.values_list("message_id", flat=True),
        *by_part.values_list("attempt__message_id", flat=True),
    ]


def phone_matches(text: str) -> Q | None:
    return phone_search.matching(text, settings.OPERATOR_COUNTRY)
