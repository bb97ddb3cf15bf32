"""The operator's desk: money, to look at. Only the ledger moves it."""

from django.contrib import admin

from accounts.admin import ReadOnlyAdmin
from billing.models import Transfer, Wallet


@admin.register(Wallet)
class WalletAdmin(ReadOnlyAdmin):
    list_display = ("company", "available", "held")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "=company__id")
    ordering = ("-company_id",)


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "company", "kind", "amount", "proof", "reason", "message_id")
    list_filter = ("kind", "proof")
    list_select_related = ("company",)
    search_fields = ("=company__id", "company__name__istartswith", "message_id", "key__startswith")
    date_hierarchy = "created_at"
    ordering = ("-id",)
