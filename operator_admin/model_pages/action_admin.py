"""Bases of admin pages: changes are audited with both values, or made on pages of their own."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy

from accounts.audit import record
from billing.gateways import registry
from billing.models import Order, Payment, Refund
from cabinet.form_fields import GroupedDecimalField, GroupedIntegerField
from catalogue.texts import StrOrPromise
from operator_admin.model_pages.bases import FORM_FIELDS, ModelAdmin, ReadOnlyAdmin, operator
from processes.server.client_ip import client_ip


class AuditedChangesAdmin(ModelAdmin):
    """What is asked of others is changed with a trace of it: what → what."""

    audit_action: ClassVar[str]
    formfield_overrides: ClassVar[Any] = {
        **FORM_FIELDS,
        models.PositiveBigIntegerField: {
            "form_class": GroupedIntegerField,
            "widget": AdminTextInputWidget({"inputmode": "numeric"}),
        },
        models.DecimalField: {
            "form_class": GroupedDecimalField,
            "widget": AdminTextInputWidget({"inputmode": "decimal"}),
            "localize": True,
        },
    }

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        super().save_model(request, obj, form, change)
        was, now = form.initial if change else {}, form.cleaned_data
        changes = [f"{name} {was.get(name, '')} → {now[name]}" for name in form.changed_data]
        self._record(request, f"{obj}: {', '.join(changes)}")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self._record(request, f"{obj} → —")
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    def _record(self, request: HttpRequest, subject: str) -> None:
        ip = client_ip(request.META)
        record(self.audit_action, subject, company=None, user=operator(request), ip=ip)


class NeedsAttention(admin.SimpleListFilter):
    title = gettext_lazy("needs attention")
    parameter_name = "attention"
    text = gettext_lazy("Yes")

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", self.text)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.needs_review() if self.value() == "yes" else queryset  # type: ignore[attr-defined]


class PaymentMethodFilter(admin.AllValuesFieldListFilter):
    """By the titles that companies see."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield choice | {"display": registry.title(str(choice["display"]))}


class ShowsPaymentMethod:
    """Instead of the gateway's name."""

    @admin.display(description=gettext_lazy("payment method"), ordering="gateway")
    def payment_method(self, row: Order | Payment | Refund) -> str:
        return registry.title(row.gateway)


class ActionAdmin(ReadOnlyAdmin):
    """Rows that are changed by pages and actions of their own."""

    def has_handle_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"billing.change_{self.opts.model_name}")

    def require_handling(self, request: HttpRequest) -> None:
        if not self.has_handle_permission(request):
            raise PermissionDenied

    def page(
        self,
        request: HttpRequest,
        template: str,
        title: StrOrPromise,
        context: dict[str, Any],
        original: models.Model | None = None,
    ) -> HttpResponse:
        """The page of an act on one row, the original, or on all of them."""
        shared = {"title": title, "opts": self.opts, "original": original}
        context = self.admin_site.each_context(request) | shared | context
        return render(request, f"admin/billing/{template}.html", context)
