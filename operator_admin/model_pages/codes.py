"""Admin: read-only pages of verifications and of companies' texts, never codes."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from channels.history import search
from operator_admin.model_pages.bases import ReadOnlyAdmin
from operator_admin.model_pages.change_list import SinceFilter
from otp.models import CodeText, GuardRestriction, Verification


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
    list_filter = (SinceFilter, "mode", ("verified_at", admin.EmptyFieldListFilter))
    list_select_related = ("company",)
    search_fields = ("phone",)
    search_help_text = search.HELP
    ordering = ("-pk",)
    exclude = ("mac",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Verification], search_term: str
    ) -> tuple[QuerySet[Verification], bool]:
        return search.search_subjects(queryset, search_term), False

    def is_found_by_index(self, text: str) -> bool:
        return search.is_found_by_index(text)


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
        "began_at",
        "company",
        "value",
        "kind",
        "step",
        "rule",
        "is_enforced",
        "stopped",
        "until",
        "ended_at",
    )
    list_filter = (("ended_at", admin.EmptyFieldListFilter), "step", "rule", "is_enforced")
    list_select_related = ("company",)
    search_fields = ("company__name", "value")
    ordering = ("-began_at",)
