"""Searches messages for the cabinet by id, request, reference, phone or part of a phone."""

from itertools import product
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Member, Mode
from accounts.people.cabinet_access import can_read_settings
from accounts.people.phone_visibility import (
    TOO_MANY_LOOK_UPS,
    may_look_up,
    may_look_up_text,
    phone_for,
)
from api.pagination import NEWEST_FIRST, SCANS, page_of
from cabinet.search import MAX_HITS, Hit, Page, Source
from channels.history.messages import by_id, with_phone
from channels.models import Message, MessageQuerySet, stored_fields
from channels.recipients import phone_search

PAGES = (
    Page("overview", _("Overview"), _("home, figures, statistics, delivery rate")),
    Page("message-list", _("Messages"), _("history, sent codes, delivery, phone")),
    Page("test-phone", _("Test phone"), _("test messages, sandbox"), can_read_settings),
)


def find(member: Member, text: str) -> list[Hit]:
    messages = Message.objects.for_company(member.company)
    if number := phone_search.whole_number(text, member.company.country):
        if may_look_up(number, member):
            return _to_phone(messages, number, member)
        title = gettext("This number was not searched")
        return [Hit(title, _list_url(Mode.LIVE, number), TOO_MANY_LOOK_UPS)]
    if (part := _phone_condition(text, member)) is not None:
        return _to_phones_like(messages, part, text, member)
    query = text.lower()
    if not query.startswith(("msg_", "req_")):
        return _with_stored(messages, text, member)
    rows = list(messages.filter(by_id(query))[:MAX_HITS])
    return [hit(row, member, is_exact=query.startswith("msg_")) for row in rows]


def _with_stored(messages: MessageQuerySet, text: str, member: Member) -> list[Hit]:
    """The newest messages of each mode with exactly this text in one of the stored fields."""
    if not may_look_up_text(text, member):
        return []
    rows = {
        row.pk: row
        for name, mode in product(stored_fields.NAMES, Mode)
        for row in messages.filter(mode=mode)
        .with_stored({name: text})
        .order_by(*NEWEST_FIRST)[:MAX_HITS]
    }
    return [hit(row, member) for row in rows.values()]


def hit(message: Message, member: Member, *, is_exact: bool = False) -> Hit:
    names = (phone_for(message.phone, member), message.get_channel_display())
    return Hit(
        message.public_id,
        reverse("message-detail", args=[message.public_id]),
        " · ".join((*names, message.get_state_display())),
        is_exact,
    )


def _to_phone(messages: QuerySet[Message], number: str, member: Member) -> list[Hit]:
    """A link to all messages to the phone for each mode that has any, and the newest of them."""
    newest = list(with_phone(messages, number).order_by("-created_at")[:MAX_HITS])
    lists = [
        Hit(str(_list_title(mode, is_one=True)), _list_url(mode, number), phone_for(number, member))
        for mode in Mode
        if any(row.mode == mode for row in newest)
    ]
    return [*lists, *(hit(row, member) for row in newest)]


def _phone_condition(text: str, member: Member) -> Q | None:
    """The condition on a part of a phone; None for too few digits, which rather mean a page."""
    digits = [char for char in text if char.isdecimal()]
    is_long = len(digits) >= phone_search.MIN_ENDING_LENGTH
    return phone_search.part_of_number(text, member.company.country) if is_long else None


def _to_phones_like(messages: QuerySet[Message], part: Q, text: str, member: Member) -> list[Hit]:
    """The matches among the latest messages of each mode, and a link to search all."""
    if not member.can_see_phones:  # digit by digit it would reveal the masked digits
        detail = _("your role sees masked phones")
        return [Hit(gettext("The full number is needed"), _list_url(Mode.LIVE, text), detail)]
    lists = []
    rows = []
    for mode in Mode:
        history = messages.filter(mode=mode)
        page = page_of(
            history.filter(part), {"limit": str(MAX_HITS)}, history=history, scans=SCANS[:2]
        )
        rows += page.rows
        if page.next_cursor or len(page.rows) > 1:
            lists.append(Hit(str(_list_title(mode, is_one=False)), _list_url(mode, text)))
    rows.sort(key=lambda row: row.created_at, reverse=True)
    return [*lists, *(hit(row, member) for row in rows)]


def _list_title(mode: Mode, *, is_one: bool) -> object:
    if is_one:
        return _("All test messages to it") if mode == Mode.TEST else _("All messages to it")
    if mode == Mode.TEST:
        return _("All test messages to these numbers")
    return _("All messages to these numbers")


def _list_url(mode: Mode, number: str) -> str:
    return f"{reverse('message-list')}?{urlencode({'mode': mode.value, 'phone': number})}"


SOURCE = Source(_("Messages"), find)
