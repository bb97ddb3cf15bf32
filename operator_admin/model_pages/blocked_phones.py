"""Admin of the phones that get no messages: blocked by the operator, or by the word STOP."""

from functools import partial

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from channels.models import BlockedPhone
from channels.outcomes import transitions
from channels.phone_numbers import e164_or_none
from operator_admin.model_pages.bases import ModelAdmin
from operator_admin.model_pages.message_search import phone_matches


class BlockedPhoneForm(forms.ModelForm):  # type: ignore[type-arg]
    """Accepts a phone in any spelling; it is stored in E.164, in which sends look it up."""

    phone = forms.CharField(label=_("Phone"), max_length=64, help_text=_("in any format"))

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
    search_help_text = _("Phone in any format or its prefix")
    ordering = ("-created_at",)

    def save_model(
        self, request: HttpRequest, obj: BlockedPhone, form: forms.Form, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(partial(transitions.end_blocked, [obj.phone]))

    def find(self, rows: QuerySet[BlockedPhone], text: str) -> QuerySet[BlockedPhone]:
        phone = phone_matches(text)
        return rows.none() if phone is None else rows.filter(phone)
