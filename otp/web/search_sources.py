"""Searches verifications and the pages about codes for the cabinet."""

from django.utils.translation import gettext_lazy as _

from accounts.models import Member
from accounts.people.cabinet_access import can_change_settings, can_read_settings
from cabinet.search import MAX_HITS, Hit, Page, Source
from catalogue.ids import parse_id
from channels.models import Message
from channels.web.search_sources import hit

PAGES = (
    Page("send", _("Send"), _("new message, send a code, try"), can_change_settings),
    Page("text-list", _("Texts"), _("templates, wording of codes"), can_read_settings),
    Page("autofill-edit", _("Autofill from SMS"), _("autofill, WebOTP"), can_change_settings),
)


def find(member: Member, text: str) -> list[Hit]:
    """Finds the messages that carried the code, by the id that the API returns."""
    verification_id = parse_id("otp", text.lower())
    if verification_id is None:
        return []
    rows = Message.objects.for_company(member.company).filter(subject_id=verification_id)
    codes = list(rows.order_by("-created_at")[:MAX_HITS])
    return [hit(code, member, is_exact=len(codes) == 1) for code in codes]


SOURCE = Source(_("Verifications"), find)
