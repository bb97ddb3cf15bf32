"""Granting or withdrawing tokens: choose a company, fill in the form, confirm."""

from typing import Any
from uuid import UUID, uuid4

from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.audit import record
from accounts.models import Company, User
from billing.models import Transfer
from billing.wallet import ledger
from cabinet.forms import GroupedIntegerField, grouped
from operator_admin.model_pages.bases import ActionAdmin, actor
from parsing.characters import one_line
from parsing.form_fields import LineField
from parsing.integers import parse_integer

SEARCH_LIMIT = 20  # companies shown at most
MAX_ADJUSTMENT = 2**31


class AdjustForm(forms.Form):
    tokens = GroupedIntegerField(
        label=gettext_lazy("Number of tokens"),
        help_text=gettext_lazy("A negative number takes available tokens back."),
    )
    reason = LineField(
        label=gettext_lazy("Reason"),
        max_length=200,
        help_text=gettext_lazy("Goes into the audit log and the company's statement."),
    )
    # The idempotency key: a form moves tokens once.
    once = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def __init__(self, *args: Any, available: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.available = available

    def clean_tokens(self) -> int:
        tokens: int = self.cleaned_data["tokens"]
        if not tokens:
            raise ValidationError(_("Enter a number other than 0."))
        if tokens < -self.available:
            raise ValidationError(_("The company has fewer available tokens than that."))
        if tokens > MAX_ADJUSTMENT:
            raise ValidationError(_("That is too many."))
        return tokens


def adjust(request: HttpRequest, admin: ActionAdmin) -> HttpResponse:
    admin.require_handling(request)
    if settings.OPERATOR_MFA:
        raise_if_reauthentication_required(request, app="operator_admin")
    number = request.POST.get("company") or request.GET.get("company") or ""
    company = Company.objects.filter(pk=parse_integer(number) or 0).first()
    if company is None:
        return _render(request, admin, "search", _search(request))
    available, held = ledger.balance(company.pk)
    form = AdjustForm(request.POST or None, available=available)
    context = {"company": company, "available": available, "held": held, "form": form}
    if request.method != "POST" or "edit" in request.POST:
        return _render(request, admin, "form", context)
    is_done = _was_done(request, form)
    if not is_done and not form.is_valid():
        return _render(request, admin, "form", context)
    if not is_done and "confirmed" not in request.POST:
        after = available + form.cleaned_data["tokens"]
        return _render(request, admin, "confirm", context | {"after": after})
    if is_done or _apply(request, company, form):
        return redirect("admin:billing_wallet_change", company.pk)
    return _render(request, admin, "form", context)


def _search(request: HttpRequest) -> dict[str, Any]:
    """Finds companies by a part of the name, the id or a member's address."""
    typed = one_line(request.GET.get("q", ""))
    query = Q(name__icontains=typed) | Q(members__user__email__istartswith=typed)
    if number := parse_integer(typed):
        query |= Q(pk=number)
    balances = {"available": F("wallet__available"), "held": F("wallet__held")}
    rows = Company.objects.filter(query).annotate(**balances).order_by("name", "pk").distinct()
    matches = list(rows[: SEARCH_LIMIT + 1]) if typed else []
    return {
        "q": typed,
        "companies": matches[:SEARCH_LIMIT],
        "has_more": len(matches) > SEARCH_LIMIT,
    }


def _was_done(request: HttpRequest, form: AdjustForm) -> bool:
    """Whether an earlier submission of this form has moved the tokens."""
    try:
        form_id = UUID(form.data.get("once", ""))
    except ValueError:  # the form will say so
        return False
    if not Transfer.objects.with_key(f"adjust:{form_id.hex}").exists():
        return False
    messages.warning(request, _("Already done: nothing was moved again."))
    return True


def _apply(request: HttpRequest, company: Company, form: AdjustForm) -> bool:
    """Moves the tokens; whether this request or a duplicate did, else adds errors to the form."""
    key = f"adjust:{form.cleaned_data['once'].hex}"
    tokens = form.cleaned_data["tokens"]
    reason = form.cleaned_data["reason"]
    try:
        move_tokens(company=company, tokens=tokens, reason=reason, key=key, **actor(request))
    except IntegrityError:
        if _was_done(request, form):
            return True
        form.add_error("tokens", _("The company has fewer available tokens than that."))
    except DataError:
        form.add_error("tokens", _("That is too many."))
    else:
        messages.success(request, _result(company, tokens))
        return True
    return False


def _result(company: Company, tokens: int) -> str:
    if tokens > 0:
        text = ngettext(
            "%(n)s token credited to %(company)s.", "%(n)s tokens credited to %(company)s.", tokens
        )
    else:
        text = ngettext(
            "%(n)s token deducted from %(company)s.",
            "%(n)s tokens deducted from %(company)s.",
            -tokens,
        )
    available = ledger.balance(company.pk).available
    result = text % {"n": grouped(abs(tokens)), "company": company}
    return result + " " + _("Available now: %(n)s.") % {"n": grouped(available)}


@transaction.atomic
def move_tokens(
    *, company: Company, tokens: int, reason: str, key: str, user: User, ip: str | None
) -> None:
    """Grants or withdraws tokens.

    Raises IntegrityError if the key was used, or the company has too few tokens.
    """
    record("wallet.adjusted", f"{tokens:+d}: {reason}", company=company, user=user, ip=ip)
    change = ledger.grant if tokens > 0 else ledger.withdraw
    change(company=company, amount=abs(tokens), reason=reason, user=user, key=key)


def _render(
    request: HttpRequest, admin: ActionAdmin, step: str, context: dict[str, Any]
) -> HttpResponse:
    return admin.page(request, f"wallet/adjust_{step}", _("Credit or deduct tokens"), context)
