"""Events and e-mails about a company's money, written in the transaction that changes it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings

from accounts.models import Company, Mail, Member, Mode
from accounts.outbox import mail
from accounts.outbox.mail import NoticeKind
from billing.models import AutoTopUp, BalanceAlert, Order
from webhooks import events

RECIPIENT_ROLES = (Member.Role.OWNER, Member.Role.ACCOUNTANT)


def notify_payment(order: Order) -> None:
    key = f"top_up.paid:{order.id.hex}"
    data = {
        "id": order.public_id,
        "status": order.state,
        "tokens": order.tokens,
        "amount": str(order.amount),
        "currency": order.currency,
        "paid_at": order.paid_at,
    }
    events.emit(company_id=order.company_id, mode=Mode.LIVE, kind="top_up.paid", data=data, key=key)
    _mail(order.company, NoticeKind.TOP_UP, "top_up_paid", key, data | {"order": order})


def notify_low_balance(company: Company, *, available: int, threshold: int, at: datetime) -> None:
    key = f"balance.low:{company.pk}:{at.timestamp():.6f}"
    data = {"available": available, "threshold": threshold}
    events.emit(company_id=company.pk, mode=Mode.LIVE, kind="balance.low", data=data, key=key)
    _mail(company, NoticeKind.BALANCE, "balance_low", key, data)


def notify_balance_alert(alert: BalanceAlert, *, now: int, at: datetime) -> None:
    """Sends an alert; `now` is tokens, days or per cent, depending on its kind."""
    key = f"{_key_of(alert)}{at.timestamp():.6f}"
    _mail(alert.company, NoticeKind.BALANCE, "balance_alert", key, {"alert": alert, "now": now})


def last_notified(alert: BalanceAlert) -> datetime | None:
    """The time of the last e-mail about this level, even one of a deleted alert."""
    mails = Mail.objects.filter(key__startswith=_key_of(alert)).order_by("-created_at")
    return mails.values_list("created_at", flat=True).first()


def _key_of(alert: BalanceAlert) -> str:
    return f"balance_alert:{alert.company_id}:{alert.kind}:{alert.level}:"


def notify_automatic_invoice(order: Order, *, url: str) -> None:
    key = f"automatic_invoice:{order.id.hex}"
    context = {"order": order, "url": url}
    _mail(order.company, NoticeKind.TOP_UP, "automatic_invoice", key, context)


def notify_auto_top_up_paused(setting: AutoTopUp) -> None:
    key = f"auto_top_up.paused:{setting.pk}:{setting.paused_at}"
    url = f"{settings.PUBLIC_URL}/cabinet/balance/automatic"
    context = {"setting": setting, "url": url}
    _mail(setting.company, NoticeKind.TOP_UP, "auto_top_up_paused", key, context)


def _mail(
    company: Company, kind: NoticeKind, template: str, key: str, context: Mapping[str, Any]
) -> None:
    context = {"url": f"{settings.PUBLIC_URL}/cabinet/balance", **context}
    mail.post_to_members(
        company=company,
        roles=RECIPIENT_ROLES,
        template=template,
        context=context,
        kind=kind,
        key=key,
    )
