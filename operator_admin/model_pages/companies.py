"""Admin of companies: their figures, approval and suspension."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminURLFieldWidget
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from accounts.models import Company, Member
from accounts.people import companies as company_service
from accounts.people import planned_deletion
from accounts.people.countries import CountryField
from accounts.security import reauthentication
from billing.models import Transfer
from cabinet.forms import GroupedIntegerField, grouped
from cabinet.templatetags.cabinet import percent
from catalogue.texts import StrOrPromise
from links.manage import stopping
from operator_admin import company_facts, figures
from operator_admin.company_facts import CompanyForm, with_patience
from operator_admin.model_pages import adjustments as adjust_views
from operator_admin.model_pages.adjustments import MAX_ADJUSTMENT
from operator_admin.model_pages.audited_admin import AuditedAdmin, mail_about_new_owners
from operator_admin.model_pages.bases import Autocompletion, ModelAdmin, actor, operator
from operator_admin.model_pages.change_list import KeysetChangeList, Narrow, choice_filter
from operator_admin.models import CompanyNote
from operator_admin.site import page_response
from parsing.form_fields import IntegerField, TextField
from parsing.integers import parse_integer

Status = Company.Status
SHOWN_FACTS = 10  # companies on the page that approves them
TITLES = {
    Status.APPROVED: _("Approve: live keys start to work"),
    Status.SUSPENDED: _("Suspend: every key is refused"),
}


VERBS = {Status.APPROVED: _("Approve"), Status.SUSPENDED: _("Suspend")}


class StatusForm(forms.Form):
    """The reason for a status change, quoted in the owner's e-mail, and initial tokens."""

    reason = TextField(
        label=_("Reason"),
        max_length=150,
        help_text=_("Goes into the audit log and the e-mail to the owner."),
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
    )

    tokens = GroupedIntegerField(
        label=_("Tokens to give"),
        required=False,
        min_value=1,
        max_value=MAX_ADJUSTMENT,
        help_text=_("To each of the companies, for their first messages; empty: none."),
    )
    once = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4, required=False)

    def __init__(self, *args: Any, status: Status, may_give: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = status is Status.SUSPENDED
        if not may_give or status is not Status.APPROVED:
            del self.fields["tokens"], self.fields["once"]


class ClosingForm(forms.Form):
    days = IntegerField(
        label=_("Days until the deletion"),
        min_value=0,
        max_value=planned_deletion.GRACE_PERIOD.days - 1,
        initial=1,
        help_text=_("0: within a minute, and nobody can cancel it."),
    )


DELETIONS: dict[str, tuple[StrOrPromise, Narrow]] = {
    "due": (
        _("to be deleted"),
        lambda companies: companies.filter(closes_at__isnull=False, deleted_at=None),
    ),
    "done": (_("deleted"), lambda companies: companies.filter(deleted_at__isnull=False)),
}


class NoteForm(forms.Form):
    text = TextField(
        label=_("Note for other operators"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2, "class": "vLargeTextField"}),
    )


class MemberInline(Autocompletion, admin.TabularInline):  # type: ignore[type-arg]
    model = Member
    extra = 0
    autocomplete_fields = ("user",)


class CompanyList(KeysetChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        days = figures.companies([company.pk for company in self.result_list])
        for company in self.result_list:
            company.day = days[company.pk]


if TYPE_CHECKING:

    class Listed(Company):
        day: figures.CompanyDay

        class Meta:
            proxy = True


@admin.register(Company)
class CompanyAdmin(AuditedAdmin, ModelAdmin):
    list_display = (
        *("name", "status_label", "balance", "last_send"),
        *("sends", "delivered", "members", "created_at"),
    )
    list_filter = ("status", choice_filter(_("deletion"), "deletion", DELETIONS))
    search_fields = ("name__istartswith", "=id", "members__user__email__istartswith")
    search_help_text = _("Name, number, or a member's e-mail address")
    ordering = ("-created_at",)
    readonly_fields = ("status", "created_at", "closes_at", "deleted_at", "erased_at")
    inlines = (MemberInline,)
    actions = ("approve", "suspend", "stop_links", "release_links")
    change_form_template = "operator_admin/company.html"
    form = CompanyForm
    may_delete = False  # its books and messages must stay
    changelist = CompanyList
    pages = (
        ("status/<str:status>/", "company-status", "status_view"),
        ("<int:pk>/note/", "company-note", "note_view"),
        ("<int:pk>/deletion/", "company-deletion", "deletion_view"),
    )

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: Any) -> None:
        super().save_formset(request, form, formset, change)
        changed = [member for member, _fields in formset.changed_objects]
        mail_about_new_owners(request, [*formset.new_objects, *changed])

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name == "link_expired_url":
            kwargs["widget"] = AdminURLFieldWidget
        if db_field.name == "country":
            return CountryField(label=capfirst(db_field.verbose_name), initial=db_field.default)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Company | None = None) -> Any:
        return with_patience([*super().get_fields(request, obj)])

    @admin.display(description=_("status"))
    def status_label(self, company: Company) -> str:
        if company.deleted_at is not None:
            kind = "suspended"
            text = str(_("deleted"))
        elif company.closes_at is not None:
            day = date_format(timezone.localtime(company.closes_at), "j E Y")
            kind = "pending"
            text = gettext("will be deleted on %(day)s") % {"day": day}
        else:
            kind = company.status
            text = company.get_status_display()
        return format_html('<span class="admin-state is-{}">{}</span>', kind, text)

    @admin.display(description=_("tokens: available + held"))
    def balance(self, company: "Listed") -> str:
        if (day := company.day).available is None or day.held is None:
            return "—"
        return f"{grouped(day.available)} + {grouped(day.held)}"

    @admin.display(description=_("last send"), empty_value="—")
    def last_send(self, company: "Listed") -> Any:
        return company.day.last_send

    @admin.display(description=_("sends in 24 h"))
    def sends(self, company: "Listed") -> str:
        return grouped(company.day.sends) + ("+" if company.day.is_capped else "")

    @admin.display(description=_("delivered"))
    def delivered(self, company: "Listed") -> str:
        return percent(company.day.share)

    @admin.display(description=_("members"))
    def members(self, company: "Listed") -> int:
        return company.day.members

    @admin.action(description=TITLES[Status.APPROVED], permissions=["change"])
    def approve(self, request: HttpRequest, companies: QuerySet[Company]) -> HttpResponse:
        return _redirect_to_status(companies, Status.APPROVED)

    @admin.action(description=TITLES[Status.SUSPENDED], permissions=["change"])
    def suspend(self, request: HttpRequest, companies: QuerySet[Company]) -> HttpResponse:
        return _redirect_to_status(companies, Status.SUSPENDED)

    @admin.action(description=_("Stop all links of these companies"), permissions=["change"])
    def stop_links(self, request: HttpRequest, companies: QuerySet[Company]) -> None:
        _change_links(request, companies, stopping.stop)

    @admin.action(description=_("Release the links of these companies"), permissions=["change"])
    def release_links(self, request: HttpRequest, companies: QuerySet[Company]) -> None:
        _change_links(request, companies, stopping.release)

    def status_view(self, request: HttpRequest, status: str) -> HttpResponse:
        """Asks for a reason and a confirmation, then changes the companies' status."""
        new_status = Status(status) if status in TITLES else Status.SUSPENDED
        companies = list(_requested_companies(request).exclude(status=new_status))
        if not self.has_change_permission(request) or not companies:
            messages.info(request, _("No company to change: already done."))
            return redirect("admin:accounts_company_changelist")
        if settings.OPERATOR_MFA:
            reauthentication.require(request)
        may_give = request.user.has_perm("billing.change_wallet")
        form = StatusForm(request.POST or None, status=new_status, may_give=may_give)
        if form.is_valid():
            return self._change(request, companies, new_status, form)
        context = {
            "companies": [company_facts.facts_of(company) for company in companies[:SHOWN_FACTS]],
            "others": companies[SHOWN_FACTS:],
            "status": new_status,
            "verb": VERBS[new_status],
            "form": form,
            "opts": self.opts,
        }
        return page_response(request, "company_status", TITLES[new_status], context)

    def _change(
        self, request: HttpRequest, companies: list[Company], status: Status, form: StatusForm
    ) -> HttpResponse:
        changed = sum(_change_status(request, company, status, form) for company in companies)
        _report_changed(request, changed)
        if len(companies) == 1:
            return redirect("admin:accounts_company_change", companies[0].pk)
        return redirect("admin:accounts_company_changelist")

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        company: Company | None = self.get_object(request, object_id)
        context = {"note": NoteForm(), **company_facts.page_context(company)} if company else {}
        return super().change_view(request, object_id, extra_context=context)

    def deletion_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Cancels the scheduled deletion of a company, or brings it forward."""
        company = Company.objects.filter(pk=pk).first()
        if company is None or not self.has_change_permission(request, company):
            raise PermissionDenied
        back = redirect("admin:accounts_company_change", pk)
        if not company.is_closing:
            messages.info(request, _("The company is not being deleted."))
            return back
        if settings.OPERATOR_MFA:
            reauthentication.require(request)
        is_moved = "days" in request.POST
        form = ClosingForm(request.POST if is_moved else None)
        if request.method == "POST" and not is_moved:
            _call_off(request, company)
            return back
        if form.is_valid():
            _bring_forward(request, company, form.cleaned_data["days"])
            return back
        context = {"company": company, "form": form, "opts": self.opts}
        return page_response(request, "company_deletion", _("Deletion of the company"), context)

    @method_decorator(require_POST)
    def note_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        company = Company.objects.filter(pk=pk).first()
        if company is None or not self.has_change_permission(request, company):
            raise PermissionDenied
        form = NoteForm(request.POST)
        if form.is_valid():
            text = form.cleaned_data["text"]
            CompanyNote.objects.create(company=company, author=operator(request), text=text)
            messages.success(request, _("Note saved."))
        else:
            messages.error(request, " ".join(map(str, form.errors["text"])))
        return redirect("admin:accounts_company_change", pk)


def _call_off(request: HttpRequest, company: Company) -> None:
    if planned_deletion.call_off(company=company, **actor(request)):
        messages.success(request, _("The company is kept, and its owners get an e-mail."))
    else:
        messages.error(request, _("Too late: the company is already deleted or kept."))


def _bring_forward(request: HttpRequest, company: Company, days: int) -> None:
    if planned_deletion.bring_forward(
        company=company, at=timezone.now() + timedelta(days=days), **actor(request)
    ):
        messages.success(request, _("The day is moved, and the owners get an e-mail."))
    else:
        messages.error(request, _("The day was not moved: the company is deleted sooner or kept."))


@transaction.atomic
def _change_status(
    request: HttpRequest, company: Company, status: Status, form: StatusForm
) -> bool:
    """Changes the status; False if another request or this form has done so.

    A form whose company was suspended since gives no tokens again and lifts no suspension.
    """
    company = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    form_id = form.cleaned_data.get("once") or uuid4()
    key = f"adjust:{form_id.hex}:{company.pk}"
    if company.status == status or Transfer.objects.with_key(key).exists():
        return False
    reason = form.cleaned_data["reason"]
    tokens = form.cleaned_data.get("tokens") or 0
    company_service.change_status(
        company=company, status=status, reason=reason, tokens=tokens, **actor(request)
    )
    if tokens:
        adjust_views.move_tokens(
            company=company,
            tokens=tokens,
            reason=reason or str(_("for the first messages")),
            key=key,
            **actor(request),
        )
    return True


def _change_links(
    request: HttpRequest, companies: QuerySet[Company], change: Callable[..., bool]
) -> None:
    changed = [change(company=company, **actor(request), by_operator=True) for company in companies]
    _report_changed(request, sum(changed))


def _report_changed(request: HttpRequest, count: int) -> None:
    text = ngettext("%(n)d company changed.", "%(n)d companies changed.", count)
    messages.success(request, text % {"n": count})


def _redirect_to_status(companies: QuerySet[Company], status: Status) -> HttpResponse:
    ids = ",".join(str(pk) for pk in companies.values_list("pk", flat=True))
    return HttpResponseRedirect(f"{reverse('admin:company-status', args=[status])}?ids={ids}")


def _requested_companies(request: HttpRequest) -> QuerySet[Company]:
    id_texts = request.GET.get("ids", "").split(",")
    ids = filter(None, map(parse_integer, id_texts[:100]))
    companies = Company.objects.filter(pk__in=list(ids), deleted_at=None)
    return companies.order_by("name")
