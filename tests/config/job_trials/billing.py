"""Money, documents and e-mails about them."""

from decimal import Decimal

import responses
from django.utils import timezone

from accounts.models import Company, Mail
from billing.bank_statements import reading
from billing.documents import issuing, month_closing
from billing.models import (
    AutomaticOrder,
    BalanceAlert,
    BankTransfer,
    BillingProfile,
    Budget,
    ClosedMonth,
    Document,
    MethodSaving,
    Order,
    Payment,
    SavedMethod,
    Seal,
    StatementMark,
)
from billing.orders import auto_top_up, method_saving, polling
from billing.seals import sealing
from billing.wallet import balance_alerts, ledger
from tests.billing.documents import history
from tests.billing.gateways.vendors import TBankVendor, operation
from tests.billing.orders.automatic import YOOKASSA, agree, save, yookassa_payment
from tests.config.job_trials.trial import Trial, ago, owner_of, wallet_of
from tests.factories import OrderFactory, PackageFactory, SellerFactory


def _automatic(company: Company) -> None:
    owner_of(company)
    wallet_of(company)
    PackageFactory.create(tokens=1000, price=Decimal("1900.00"), currency="RUB")
    agree(company)
    save(company)


def _is_topped_up(company: Company) -> bool:
    return ledger.balance(company.pk).available == 1010


def _paid_with_saving(company: Company) -> None:
    order = OrderFactory.create(
        company=company, state=Order.State.PAID, paid_at=timezone.now(), finished_at=timezone.now()
    )
    MethodSaving.objects.create(order=order)


def _lost_payment(company: Company) -> None:
    wallet_of(company)
    order = OrderFactory.create(
        company=company, gateway="yookassa", payment_id=f"pay-{company.pk}", created_at=ago(hours=2)
    )
    Order.objects.filter(pk=order.pk).update(created_at=ago(hours=2))
    response = yookassa_payment(order.public_id, id=order.payment_id)
    responses.upsert("GET", f"{YOOKASSA}/{order.payment_id}", json=response)


def _is_paid(company: Company) -> bool:
    return Payment.objects.filter(order__company=company, is_credited=True).exists()


def _bank_line(company: Company) -> None:
    """Read together with those of the companies before it."""
    SellerFactory.create()
    operations = [
        operation(f"op-{each.pk}", f"{each.pk}.00", "оплата", number=str(each.pk))
        for each in Company.objects.filter(pk__lte=company.pk).order_by("pk")
    ]
    responses.upsert("GET", f"{TBankVendor.url}/statement", json={"operations": operations})


def _is_line_kept(company: Company) -> bool:
    return BankTransfer.objects.filter(amount=company.pk).exists()


def _low(company: Company) -> None:
    owner_of(company)
    wallet_of(company, 0)


def _is_told_low(company: Company) -> bool:
    return BillingProfile.objects.filter(
        company=company, low_balance_notified_at__isnull=False
    ).exists()


def _alert(company: Company) -> None:
    _low(company)
    BillingProfile.objects.update_or_create(
        company=company, defaults={"low_balance_notified_at": timezone.now()}
    )
    BalanceAlert.objects.create(company=company, kind="tokens", level=500)


def _is_alert_told(company: Company) -> bool:
    return BalanceAlert.objects.filter(company=company, notified_at__isnull=False).exists()


def _spending(company: Company) -> None:
    owner_of(company)
    wallet_of(company, day=timezone.localdate(), day_tokens=95)
    Budget.objects.create(company=company, country="", fixed_tokens=100)


def _share(company: Company) -> None:
    _spending(company)
    BalanceAlert.objects.create(company=company, kind="budget", level=50)


def _is_warned(company: Company) -> bool:
    return Mail.objects.filter(key__startswith=f"budget:{company.pk}:").exists()


def _sales_history(company: Company) -> None:
    history.seller()
    BillingProfile.objects.update_or_create(
        company=company,
        defaults={"legal_name": "ООО «Ромашка»", "inn": "7800000002", "kpp": "780001001"},
    )
    history.buy(company, history.at(9, 5), 1000, "1900.00")
    history.use(company, history.at(9, 20), 100)


def _seal() -> None:
    history.seal(*Company.objects.all())


def _close() -> None:
    _seal()
    month_closing.close()


ORDER_OF_COMPANY = "NEW.order_id IN (SELECT id FROM billing_order WHERE company_id = {company})"
TRIALS = (
    Trial(
        "billing.top_up_automatically",
        auto_top_up.DUE.name,
        _automatic,
        _is_topped_up,
        "billing_automaticorder",
    ),
    Trial(
        "billing.top_up_automatically",
        auto_top_up.PAID.name,
        _automatic,
        _is_topped_up,
        "billing_payment",
        ORDER_OF_COMPANY,
        age=lambda: AutomaticOrder.objects.update(tried_at=None),
    ),
    Trial(
        "billing.top_up_automatically",
        method_saving.SAVINGS.name,
        _paid_with_saving,
        lambda company: SavedMethod.objects.filter(company=company).exists(),
        "billing_savedmethod",
    ),
    Trial(
        "billing.call_payment_providers",
        polling.JOB.name,
        _lost_payment,
        _is_paid,
        "billing_payment",
        ORDER_OF_COMPANY,
        age=lambda: Order.objects.update(asked_at=None),
    ),
    Trial(
        "billing.call_payment_providers",
        reading.JOB.name,
        _bank_line,
        _is_line_kept,
        "billing_banktransfer",
        "NEW.amount = {company}",
        age=lambda: StatementMark.objects.update(tried_at=None),
    ),
    Trial(
        "billing.send_low_balance_alerts",
        balance_alerts.LOW_BALANCE.name,
        _low,
        _is_told_low,
        "billing_billingprofile",
    ),
    Trial(
        "billing.send_low_balance_alerts",
        balance_alerts.JOB.name,
        _alert,
        _is_alert_told,
        "billing_balancealert",
    ),
    Trial(
        "billing.send_budget_alerts",
        balance_alerts.SHARES.name,
        _share,
        _is_alert_told,
        "billing_balancealert",
    ),
    Trial(
        "billing.send_budget_alerts",
        balance_alerts.WARNINGS.name,
        _spending,
        _is_warned,
        "accounts_mail",
        "NEW.key LIKE 'budget:{company}:%'",
    ),
    Trial(
        "billing.seal_books",
        sealing.JOB.name,
        _sales_history,
        lambda company: Seal.objects.filter(company=company).exists(),
        "billing_seal",
    ),
    Trial(
        "billing.close_months",
        month_closing.JOB.name,
        _sales_history,
        lambda company: ClosedMonth.objects.filter(
            company=company, month=history.SEPTEMBER
        ).exists(),
        "billing_closedmonth",
        begin=_seal,
    ),
    Trial(
        "billing.issue_documents",
        issuing.MONTHS.name,
        _sales_history,
        lambda company: Document.objects.filter(company=company, kind="closing").exists(),
        "billing_document",
        "NEW.company_id = {company} AND NEW.kind = 'closing'",
        begin=_close,
    ),
    Trial(
        "billing.issue_documents",
        issuing.ADVANCES.name,
        _sales_history,
        lambda company: Document.objects.filter(company=company, kind="advance").exists(),
        "billing_document",
        "NEW.company_id = {company} AND NEW.kind = 'advance'",
    ),
)
