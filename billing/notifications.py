"""Events and e-mails about a company's money, written in the transaction that changes it."""

from datetime import datetime

from django.conf import settings

from accounts.models import Company, Member, Mode
from accounts.outbox import mail
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
    mail.post_to_members(
        company=order.company,
        roles=RECIPIENT_ROLES,
        template="top_up_paid",
        context={**data, "order": order, "url": _url("/cabinet/balance")},
        key=key,
    )


def notify_low_balance(company: Company, *, available: int, threshold: int, at: datetime) -> None:
    key = f"balance.low:{company.pk}:{at.timestamp():.6f}"
    data = {"available": available, "threshold": threshold}
    events.emit(company_id=company.pk, mode=Mode.LIVE, kind="balance.low", data=data, key=key)
    mail.post_to_members(
        company=company,
        roles=RECIPIENT_ROLES,
        template="balance_low",
        context={**data, "url": _url("/cabinet/balance")},
        key=key,
    )


def notify_balance_alert(alert: BalanceAlert, *, now: int, at: datetime) -> None:
    """`now`: tokens, days or per cent, as the alert's kind has it."""
    mail.post_to_members(
        company=alert.company,
        roles=RECIPIENT_ROLES,
        template="balance_alert",
        context={"alert": alert, "now": now, "url": _url("/cabinet/balance")},
        key=f"balance_alert:{alert.pk}:{at.timestamp():.6f}",
    )


def notify_automatic_invoice(order: Order, *, url: str) -> None:
    mail.post_to_members(
        company=order.company,
        roles=RECIPIENT_ROLES,
        template="automatic_invoice",
        context={"order": order, "url": url},
        key=f"automatic_invoice:{order.id.hex}",
    )


def notify_auto_top_up_paused(setting: AutoTopUp) -> None:
    mail.post_to_members(
        company=setting.company,
        roles=RECIPIENT_ROLES,
        template="auto_top_up_paused",
        context={"setting": setting, "url": _url("/cabinet/balance/automatic")},
        key=f"auto_top_up.paused:{setting.pk}:{setting.paused_at}",
    )


def _url(path: str) -> str:
    return f"{settings.PUBLIC_URL}{path}"
