"""Identity servers of companies, to look at."""

from django.contrib import admin

from identity_hooks.models import Socket
from operator_admin.model_pages.bases import ReadOnlyAdmin


@admin.register(Socket)
class SocketAdmin(ReadOnlyAdmin):
    list_display = ("name", "company", "kind", "mode", "purpose", "last_used_at", "revoked_at")
    list_filter = ("kind", "mode", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("company",)
    search_fields = ("name__istartswith", "company__name__istartswith")
    exclude = ("secret", "previous_secret")
