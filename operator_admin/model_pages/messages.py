"""Admin of messages, attempts, receipts, contacts and blocked phones."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from billing.models import Transfer
from catalogue.texts import StrOrPromise
from channels.history import search
from channels.history.redaction import redact
from channels.history.timeline import RECEIPT_TITLES, timeline
from channels.models import Attempt, BlockedPhone, Contact, Message, Receipt
from channels.phone_numbers import e164_or_none
from channels.vendor_accounts import error_texts
from operator_admin.model_pages.bases import ModelAdmin, ReadOnlyAdmin, ReadOnlyInline
from operator_admin.model_pages.change_list import SinceFilter, since_filter

if TYPE_CHECKING:
    BlockedPhoneModelForm = forms.ModelForm[BlockedPhone]
else:
    BlockedPhoneModelForm = forms.ModelForm  # generic in the stubs alone


class ErrorClass(admin.SimpleListFilter):
    title = _("error")
    parameter_name = "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(error_texts.ERROR_CLASSES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(error_class=self.value()) if self.value() else queryset


class ProviderName(admin.SimpleListFilter):
    title = _("provider")
    parameter_name = "provider"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(error_texts.PROVIDERS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(provider=self.value()) if self.value() else queryset


class ReportedState(admin.SimpleListFilter):
    """By the words that there can be; Django would read all rows for those that there are."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(state, f"{title} ({state})") for state, (title, _tone) in RECEIPT_TITLES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(state=self.value()) if self.value() else queryset


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("n", "channel", "provider", "state", "error_code", "error_detail", "started_at")
    ordering = ("n",)


class ReceiptInline(ReadOnlyInline):
    model = Receipt
    fields = ("state", "word", "error_code", "error_detail", "at", "received_at", "applied_at")
    ordering = ("received_at",)


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "company", "mode", "phone", "kind", "channel", "state", "error")
    list_filter = (SinceFilter, "mode", "state", "channel", "kind")
    list_select_related = ("company",)
    search_fields = ("phone",)  # shows the search box; `get_search_results` does the search
    search_help_text = search.HELP
    ordering = ("-pk",)
    inlines = (AttemptInline,)
    change_form_template = "operator_admin/message.html"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Message], search_term: str
    ) -> tuple[QuerySet[Message], bool]:
        return search.search_messages(queryset, search_term), False

    def is_found_by_index(self, text: str) -> bool:
        return search.is_found_by_index(text)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        message = self.get_object(request, object_id)
        context = _message_context(message) if message is not None else {}
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))


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
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ("started_at", "message", "n", "channel", "provider", "state", "error_code")
    exclude = ("error_class",)
    readonly_fields = ("kind_of_error",)
    list_filter = (since_filter("started_at"), "state", "channel", ProviderName, ErrorClass)
    list_select_related = ("message",)
    search_fields = ("phone",)
    search_help_text = search.HELP
    ordering = ("-started_at",)
    raw_id_fields = ("message",)
    inlines = (ReceiptInline,)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Attempt], search_term: str
    ) -> tuple[QuerySet[Attempt], bool]:
        return search.search_attempts(queryset, search_term), False

    def is_found_by_index(self, text: str) -> bool:
        return search.is_found_by_index(text)

    @admin.display(description=_("kind of error"))
    def kind_of_error(self, attempt: Attempt) -> StrOrPromise:
        return error_texts.ERROR_CLASSES.get(attempt.error_class, "—")


@admin.register(Receipt)
class ReceiptAdmin(ReadOnlyAdmin):
    list_display = (
        "received_at",
        "provider",
        "word",
        "state",
        "provider_id",
        "error_code",
        "applied_at",
    )
    list_filter = (
        since_filter("received_at"),
        ReportedState,
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
    list_display = ("phone", "chat_id", "shared_at", "blocked_at")
    list_filter = (("blocked_at", admin.EmptyFieldListFilter),)
    search_fields = ("phone", "=chat_id")
    ordering = ("-shared_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # only sharing it in the chat proves whose phone it is

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class BlockedPhoneForm(BlockedPhoneModelForm):
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
    search_help_text = search.PHONE_HELP
    ordering = ("-created_at",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[BlockedPhone], search_term: str
    ) -> tuple[QuerySet[BlockedPhone], bool]:
        matching = search.filter_by_phone(queryset, search_term) if search_term else queryset
        return matching, False
