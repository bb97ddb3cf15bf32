"""Messages as the cabinet's search finds them: by id, by request, and by a whole phone."""

from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Member, Mode
from accounts.people.phone_masking import phone_for
from accounts.people.roles import can_read_settings
from accounts.search.sources import MOST_HITS, Hit, Page, Source, register_pages, register_source
from channels.history.messages import by_id, with_phone
from channels.models import Message
from channels.recipients import phone_search

PAGES = (
    Page("overview", _("Overview"), _("home, figures, statistics, delivery rate")),
    Page("message-list", _("Messages"), _("history, sent codes, delivery, phone")),
    Page("test-phone", _("Test phone"), _("test messages, sandbox"), can_read_settings),
)


def register() -> None:
    register_pages(*PAGES)
    register_source(Source(_("Messages"), find))


def find(member: Member, text: str) -> list[Hit]:
    own = Message.objects.of(member.company)
    if number := phone_search.whole_number(text, member.company.country):
        return _to_phone(own, number, member)
    wanted = text.lower()
    if not wanted.startswith(("msg_", "req_")):
        return []
    rows = list(own.filter(by_id(wanted))[:MOST_HITS])
    return [hit(one, member, is_exact=wanted.startswith("msg_")) for one in rows]


def hit(message: Message, member: Member, *, is_exact: bool = False) -> Hit:
    words = (phone_for(message.phone, member), message.get_channel_display())
    return Hit(
        message.public_id,
        reverse("message-detail", args=[message.public_id]),
        " · ".join((*words, message.get_state_display())),
        is_exact,
    )


def _to_phone(own: QuerySet[Message], number: str, member: Member) -> list[Hit]:
    """The list of all in each mode that has any, and the newest of them."""
    newest = list(with_phone(own, number).order_by("-created_at")[:MOST_HITS])
    lists = [
        Hit(str(_list_title(mode)), _list_url(mode, number), phone_for(number, member))
        for mode in Mode
        if any(one.mode == mode for one in newest)
    ]
    return [*lists, *(hit(one, member) for one in newest)]


def _list_title(mode: Mode) -> object:
    return _("All test messages to it") if mode == Mode.TEST else _("All messages to it")


def _list_url(mode: Mode, number: str) -> str:
    return f"{reverse('message-list')}?{urlencode({'mode': mode.value, 'phone': number})}"
