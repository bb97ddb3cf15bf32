"""The base of admin pages whose changes are audited with what was and what is."""

from typing import Any, ClassVar

from django.contrib.admin.widgets import AdminTextInputWidget
from django.db import models, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.audit.events import record
from accounts.cabinet.number_fields import GroupedDecimalField, GroupedIntegerField
from accounts.client_ip import client_ip
from accounts.model_admin.admin import FORM_FIELDS, ModelAdmin, operator


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
        for one in queryset:
            self.delete_model(request, one)

    def _record(self, request: HttpRequest, subject: str) -> None:
        ip = client_ip(request.META)
        record(self.audit_action, subject, company=None, user=operator(request), ip=ip)
