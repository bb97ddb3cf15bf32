"""The operator's desk: verifications, to look at. The code is in none of it."""

from django.contrib import admin

from accounts.admin import ReadOnlyAdmin
from otp.models import Verification


@admin.register(Verification)
class VerificationAdmin(ReadOnlyAdmin):
    list_display = (
        "created_at",
        "company",
        "mode",
        "phone",
        "purpose",
        "attempts",
        "expires_at",
        "verified_at",
    )
    list_filter = ("mode", ("verified_at", admin.EmptyFieldListFilter))
    list_select_related = ("company",)
    search_fields = ("phone__startswith", "=id")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    exclude = ("mac",)
