"""Closed months and issued documents in the admin, to read."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from accounts.model_admin.admin import ReadOnlyAdmin
from accounts.model_admin.change_list import in_lines
from billing.documents import document_pdf
from billing.models import ClosedMonth, Document


@admin.register(ClosedMonth)
class ClosedMonthAdmin(ReadOnlyAdmin):
    list_display = (
        *("named", "company", "opening", "bought", "granted", "withdrawn", "spent", "closing"),
        "is_due",
    )
    list_filter = ("is_due", "month")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith",)
    ordering = ("-month", "-company_id")

    @admin.display(description=_("month"), ordering="month")
    def named(self, closed: ClosedMonth) -> str:
        return date_format(closed.month, "F Y")


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    list_display = ("title", "kind", "company", "issued_on", "amount", "currency", "file")
    list_filter = ("kind", "issued_on")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "=serial")
    ordering = ("-year", "-serial")
    exclude = ("lines", "parties")
    readonly_fields = ("lines_in_lines", "parties_in_lines")

    @admin.display(description=_("lines"))
    def lines_in_lines(self, document: Document) -> str:
        return in_lines(document.lines)

    @admin.display(description=_("parties"))
    def parties_in_lines(self, document: Document) -> str:
        return in_lines(document.parties)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.pdf)
        return [path("<uuid:pk>/pdf", view, name="billing_document_pdf"), *super().get_urls()]

    @admin.display(description=_("number"), ordering="serial")
    def title(self, document: Document) -> str:
        return document.number

    @admin.display(description=_("file"))
    def file(self, document: Document) -> SafeString:
        url = reverse("admin:billing_document_pdf", args=[document.pk])
        return format_html('<a href="{}">PDF</a>', url)

    def pdf(self, request: HttpRequest, pk: object) -> HttpResponse:
        document = self.get_object(request, str(pk))
        if document is None or not self.has_view_permission(request, document):
            return HttpResponse(status=404)
        return HttpResponse(document_pdf.draw(document), content_type="application/pdf")
