"""Admin of messages, receipts, contacts, codes, companies' texts and the guard's restrictions."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from billing.models import Transfer
from catalogue.texts import StrOrPromise
from channels.history.redaction import redact
from channels.history.timeline import RECEIPT_TITLES, timeline
from channels.models import Attempt, Contact, Message, Receipt
from channels.recipients import phone_search
from channels.vendor_accounts import error_texts
from operator_admin.model_pages.bases import ModelAdmin, ReadOnlyAdmin, ReadOnlyInline
from operator_admin.model_pages.change_list import field_filter, since_filter
from operator_admin.model_pages.message_search import newest_ids, phone_matches, search_messages
from otp.models import CodeText, GuardRestriction, Verification


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("n", "channel", "provider", "state", "error_code", "error_detail", "started_at")
    ordering = ("n",)


class ReceiptInline(ReadOnlyInline):
    model = Receipt
    fields = (
        *("state", "vendor_status", "error_code", "error_detail"),
        *("at", "received_at", "applied_at"),
    )
    ordering = ("received_at",)


class FoundByPhoneAdmin(ReadOnlyAdmin):
    search_fields = ("phone",)  # shows the search box; `find` searches
    search_help_text = _(
        "Phone in any format or its prefix, message id (msg_…), request id (req_…), "
        "the provider's id"
    )

    def is_found_by_index(self, text: str) -> bool:
        """Whether an index finds the text: anything but the beginning of a phone."""
        is_whole = phone_search.whole_number(text, settings.OPERATOR_COUNTRY) is not None
        return is_whole or phone_matches(text.strip()) is None


@admin.register(Message)
class MessageAdmin(FoundByPhoneAdmin):
    list_display = ("created_at", "company", "mode", "phone", "kind", "channel", "state", "error")
    list_filter = (since_filter(), "mode", "state", "channel", "kind")
    list_select_related = ("company",)
    ordering = ("-pk",)
    inlines = (AttemptInline,)
    change_form_template = "operator_admin/message.html"

    def find(self, rows: QuerySet[Message], text: str) -> QuerySet[Message]:
        return search_messages(rows, text)

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        message: Message | None = self.get_object(request, object_id)
        context = _message_context(message) if message is not None else {}
        return super().change_view(request, object_id, extra_context=context)


def _message_context(message: Message) -> dict[str, Any]:
    receipts = Receipt.objects.filter(attempt__message=message).select_related("attempt")
    return {
        "title": message.public_id,
        "subtitle": None,
        "steps": timeline(message),
        "transfers": Transfer.objects.of_message(message.pk).order_by("id"),
        "receipts": [
            (receipt, redact(bytes(receipt.raw))) for receipt in receipts.order_by("received_at")
        ],
    }


@admin.register(Attempt)
class AttemptAdmin(FoundByPhoneAdmin):
    list_display = ("started_at", "message", "n", "channel", "provider", "state", "error_code")
    exclude = ("error_class",)
    readonly_fields = ("kind_of_error",)
    list_filter = (
        *(since_filter("started_at"), "state", "channel"),
        field_filter(_("provider"), "provider", error_texts.PROVIDERS),
        field_filter(_("error"), "error_class", error_texts.ERROR_CLASSES, "error"),
    )
    list_select_related = ("message",)
    ordering = ("-started_at",)
    raw_id_fields = ("message",)
    inlines = (ReceiptInline,)

    def find(self, rows: QuerySet[Attempt], text: str) -> QuerySet[Attempt]:
        """The attempts of the messages that this text finds."""
        return rows.filter(message__in=newest_ids(text, "pk")) if text.strip() else rows

    @admin.display(description=_("kind of error"))
    def kind_of_error(self, attempt: Attempt) -> StrOrPromise:
        return error_texts.ERROR_CLASSES.get(attempt.error_class, "—")


REPORTED_STATES = {
    state: format_lazy("{} ({})", title, state) for state, (title, _tone) in RECEIPT_TITLES.items()
}


@admin.register(Receipt)
class ReceiptAdmin(ReadOnlyAdmin):
    list_display = (
        *("received_at", "provider", "vendor_status", "state"),
        *("provider_id", "error_code", "applied_at"),
    )
    list_filter = (
        since_filter("received_at"),
        field_filter(_("state"), "state", REPORTED_STATES),
        ("applied_at", admin.EmptyFieldListFilter),
    )
    search_fields = ("=provider_id", "=ref")
    ordering = ("-id",)
    raw_id_fields = ("attempt",)
    exclude = ("digest", "raw")
    readonly_fields = ("as_received",)

    @admin.display(description=_("as received"))
    def as_received(self, receipt: Receipt) -> str:
        return redact(bytes(receipt.raw))  # masks parts of the message that the vendor echoed


@admin.register(Contact)
class ContactAdmin(ModelAdmin):
    list_display = ("phone", "provider", "chat_id", "shared_at", "confirmed_at", "blocked_at")
    list_filter = ("provider", ("blocked_at", admin.EmptyFieldListFilter))
    search_fields = ("phone", "=chat_id")
    ordering = ("-shared_at",)

    may_add = False  # only a contact shared in the chat proves its phone
    may_change = False


@admin.register(Verification)
class VerificationAdmin(FoundByPhoneAdmin):
    list_display = (
        *("created_at", "company", "mode", "phone", "purpose"),
        *("attempts", "expires_at", "verified_at"),
    )
    list_filter = (since_filter(), "mode", ("verified_at", admin.EmptyFieldListFilter))
    list_select_related = ("company",)
    ordering = ("-pk",)
    exclude = ("mac",)

    def find(self, rows: QuerySet[Verification], text: str) -> QuerySet[Verification]:
        """The verifications of the messages found; verifications have no index by phone."""
        return rows.filter(pk__in=newest_ids(text, "subject_id")) if text.strip() else rows


@admin.register(CodeText)
class CodeTextAdmin(ReadOnlyAdmin):
    list_display = ("changed_at", "company", "purpose", "channel", "locale", "body")
    list_filter = ("channel", "locale")
    list_select_related = ("company",)
    search_fields = ("company__name", "body")
    ordering = ("-pk",)


@admin.register(GuardRestriction)
class GuardRestrictionAdmin(ReadOnlyAdmin):
    """Restrictions of all companies: a range used against one may soon be used against others."""

    list_display = (
        *("began_at", "company", "value", "kind", "step", "rule"),
        *("is_enforced", "stopped", "until", "ended_at"),
    )
    list_filter = (("ended_at", admin.EmptyFieldListFilter), "step", "rule", "is_enforced")
    list_select_related = ("company",)
    search_fields = ("company__name", "value")
    ordering = ("-began_at",)
