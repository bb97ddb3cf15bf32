"""Admin of messages, receipts, contacts, codes, companies' texts and restrictions."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from billing.models import Transfer
from catalogue.ids import parse_id, uuid_or_none
from catalogue.texts import StrOrPromise
from channels.history.messages import of_request
from channels.history.redaction import redact
from channels.history.timeline import RECEIPT_TITLES, timeline
from channels.models import Attempt, BlockedPhone, Contact, Message, Part, Receipt
from channels.phone_numbers import e164_or_none
from channels.recipients import phone_search
from channels.vendor_accounts import error_texts
from channels.vendor_accounts.registry import hosted_providers, test_providers
from operator_admin.model_pages.bases import ModelAdmin, ReadOnlyAdmin, ReadOnlyInline
from operator_admin.model_pages.change_list import field_filter, since_filter
from otp.models import CodeText, GuardRestriction, Verification


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("n", "channel", "provider", "state", "error_code", "error_detail", "started_at")
    ordering = ("n",)


class ReceiptInline(ReadOnlyInline):
    model = Receipt
    fields = ("state", "word", "error_code", "error_detail", "at", "received_at", "applied_at")
    ordering = ("received_at",)


class FoundByPhoneAdmin(ReadOnlyAdmin):
    search_fields = ("phone",)  # shows the search box; `find` searches
    search_help_text = _(
        "Phone in any spelling or its beginning, message id (msg_…), request id (req_…), "
        "the provider's id"
    )

    def is_found_by_index(self, text: str) -> bool:
        """All but the beginning of a phone."""
        is_whole = phone_search.whole_number(text, settings.OPERATOR_COUNTRY) is not None
        return is_whole or _phone(text.strip()) is None


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
        return rows.filter(message__in=_newest(text, "pk")) if text.strip() else rows

    @admin.display(description=_("kind of error"))
    def kind_of_error(self, attempt: Attempt) -> StrOrPromise:
        return error_texts.ERROR_CLASSES.get(attempt.error_class, "—")


REPORTED_STATES = {
    state: format_lazy("{} ({})", title, state) for state, (title, _tone) in RECEIPT_TITLES.items()
}


@admin.register(Receipt)
class ReceiptAdmin(ReadOnlyAdmin):
    list_display = (
        *("received_at", "provider", "word", "state", "provider_id", "error_code", "applied_at"),
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
        return redact(bytes(receipt.raw))  # masks what the vendor echoed of the message


@admin.register(Contact)
class ContactAdmin(ModelAdmin):
    list_display = ("phone", "provider", "chat_id", "shared_at", "blocked_at")
    list_filter = ("provider", ("blocked_at", admin.EmptyFieldListFilter))
    search_fields = ("phone", "=chat_id")
    ordering = ("-shared_at",)

    may_add = False  # only sharing it in the chat proves whose phone it is
    may_change = False


class BlockedPhoneForm(forms.ModelForm):  # type: ignore[type-arg]
    """Takes a phone in any spelling; sends look it up in E.164."""

    phone = forms.CharField(label=_("Phone"), max_length=64, help_text=_("in any spelling"))

    class Meta:
        model = BlockedPhone
        fields = ("phone", "reason")

    def clean_phone(self) -> str:
        number = e164_or_none(self.cleaned_data["phone"], settings.OPERATOR_COUNTRY)
        if number is None:
            raise ValidationError(
                _("Enter the number with a plus and its country code, for example +79161234567.")
            )
        return number


@admin.register(BlockedPhone)
class BlockedPhoneAdmin(ModelAdmin):
    form = BlockedPhoneForm
    list_display = ("phone", "said_stop", "reason", "created_at")
    list_filter = ("said_stop",)
    search_fields = ("phone",)
    search_help_text = _("Phone in any spelling or its beginning")
    ordering = ("-created_at",)

    def find(self, rows: QuerySet[BlockedPhone], text: str) -> QuerySet[BlockedPhone]:
        phone = _phone(text)
        return rows.none() if phone is None else rows.filter(phone)


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
        """What the messages found went out for: verifications have no index by phone."""
        return rows.filter(pk__in=_newest(text, "subject_id")) if text.strip() else rows


@admin.register(CodeText)
class CodeTextAdmin(ReadOnlyAdmin):
    list_display = ("changed_at", "company", "purpose", "channel", "locale", "body")
    list_filter = ("channel", "locale")
    list_select_related = ("company",)
    search_fields = ("company__name", "body")
    ordering = ("-pk",)


@admin.register(GuardRestriction)
class GuardRestrictionAdmin(ReadOnlyAdmin):
    """Across all companies: a range that one of them is attacked through is news for the others."""

    list_display = (
        *("began_at", "company", "value", "kind", "step", "rule"),
        *("is_enforced", "stopped", "until", "ended_at"),
    )
    list_filter = (("ended_at", admin.EmptyFieldListFilter), "step", "rule", "is_enforced")
    list_select_related = ("company",)
    search_fields = ("company__name", "value")
    ordering = ("-began_at",)


# Messages are found by phone, by our ids or the provider's id, always by an index.

MAX_FOUND = 500


def search_messages(rows: QuerySet[Message], text: str) -> QuerySet[Message]:
    text = text.strip()
    if not text:
        return rows
    if (by_id := _by_own_id(rows, text)) is not None:
        return by_id
    if number := phone_search.whole_number(text, settings.OPERATOR_COUNTRY):
        # In the order of the index: a plan for any phone would follow the primary key instead.
        newest = Message.objects.filter(phone=number).order_by("-created_at")
        if ids := list(newest.values_list("pk", flat=True)[:MAX_FOUND]):
            return rows.filter(pk__in=ids)
        return rows.filter(pk__in=_by_provider_id(text))
    if (phone := _phone(text)) is not None:
        by_phone = rows.filter(phone)
        return by_phone if by_phone.exists() else rows.filter(pk__in=_by_provider_id(text))
    return rows.filter(pk__in=_by_provider_id(text))


def _newest(text: str, field: str) -> list[UUID]:
    """The ids of the messages that this text finds."""
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
    """Runs at once: as a subquery PostgreSQL would scan the whole table."""
    providers = [*error_texts.PROVIDERS, *test_providers()]  # the first column of the index
    by_attempt = Attempt.objects.filter(provider__in=providers, provider_id=text)
    by_part = Part.objects.filter(provider__in=list(hosted_providers()), provider_id=text)
    return [
        *by_attempt.values_list("message_id", flat=True),
        *by_part.values_list("attempt__message_id", flat=True),
    ]


def _phone(text: str) -> Q | None:
    return phone_search.matching(text, settings.OPERATOR_COUNTRY)
