"""A company's messages as spreadsheet rows, which never contain the code."""

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Member
from accounts.people.phone_visibility import phone_for, text_for
from api.body_admission import source_apis
from cabinet.csv_exports import CsvKind, Download, Selection
from channels.history import messages
from channels.models import Message, stored_fields
from channels.vendor_accounts import error_texts
from channels.web.forms import HistoryFilter
from parsing.days import local_time


class MessagesCsv(CsvKind):
    name = "messages"
    title = gettext_lazy("Messages")
    page = "message-list"
    action = "history.exported"
    model = Message

    def form(self, query: QueryDict, member: Member) -> HistoryFilter:
        return HistoryFilter(query, member=member)

    def select(self, download: Download) -> Selection:
        company = download.member.company
        rows = messages.matching(company, download.filters).select_related("api_key")
        return Selection(rows, messages.searched_messages(company, download.filters))

    def headings(self) -> list[str]:
        return [
            _("Time"),
            _("Message id"),
            _("Mode"),
            _("Kind"),
            _("Channel"),
            _("Phone"),
            _("Status"),
            _("Why"),
            _("Delivered at"),
            _("Tokens charged"),
            _("Key"),
            _("Request id"),
            *(str(field.title) for field in stored_fields.FIELDS),
            _("Source"),
            _("Language"),
        ]

    def cells(self, row: Any, member: Member) -> list[str]:  # annotated with `charged`
        return [
            local_time(row.created_at),
            row.public_id,
            str(row.get_mode_display()),
            str(row.get_kind_display()),
            str(row.get_channel_display()),
            phone_for(row.phone, member),
            str(row.get_state_display()),
            error_texts.api_error_text(row.error),
            local_time(row.delivered_at),
            str(row.charged or 0),
            f"{row.api_key.name} ({row.api_key})" if row.api_key else "",
            row.request_id,
            *(text_for(getattr(row, name), member) for name in stored_fields.NAMES),
            str(source_apis.get(row.source_api, row.source_api)),
            row.locale,
        ]
