"""The operator's desk: what was sent and what became of it, to look at."""

from django.contrib import admin
from django.http import HttpRequest

from accounts.admin import ModelAdmin, ReadOnlyAdmin, ReadOnlyInline
from channels.models import Attempt, BlockedPhone, Contact, Message, Receipt


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
    list_filter = ("mode", "state", "channel", "kind")
    list_select_related = ("company",)
    search_fields = ("phone__startswith", "=id", "=subject_id", "=request_id")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    inlines = (AttemptInline,)


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ("started_at", "message", "n", "channel", "provider", "state", "error_code")
    list_filter = ("state", "channel", "provider", "error_class")
    list_select_related = ("message",)
    search_fields = ("=id", "=message__id", "=provider_id", "message__phone__startswith")
    date_hierarchy = "started_at"
    ordering = ("-started_at",)
    raw_id_fields = ("message",)
    inlines = (ReceiptInline,)


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
    list_filter = ("provider", "state", ("applied_at", admin.EmptyFieldListFilter))
    search_fields = ("=provider_id", "=ref")
    date_hierarchy = "received_at"
    ordering = ("-id",)
    raw_id_fields = ("attempt",)
    exclude = ("digest", "raw")  # raw may hold what the vendor echoed of the message


@admin.register(Contact)
class ContactAdmin(ModelAdmin):
    list_display = ("phone", "chat_id", "shared_at", "blocked_at")
    list_filter = (("blocked_at", admin.EmptyFieldListFilter),)
    search_fields = ("phone__startswith", "=chat_id")
    ordering = ("-shared_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # only the person's own share proves that the phone is theirs

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(BlockedPhone)
class BlockedPhoneAdmin(ModelAdmin):
    list_display = ("phone", "reason", "created_at")
    search_fields = ("phone__startswith",)
    ordering = ("-created_at",)
