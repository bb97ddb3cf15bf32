"""Checks of the books, the queues, clicks, payment providers and the operators."""

from datetime import UTC, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from redis.exceptions import RedisError

from accounts.models import Company, User
from billing.gateways import registry
from billing.gateways.base import GatewayError
from billing.models import SealedDay, StatementMark, Transfer
from channels import reconciliation
from links.clicks import stream
from links.clicks.clickhouse import completeness, tables
from operator_admin import figures
from operator_admin.doctor.finding import Finding, failed, passed, verdict
from operator_admin.site import FACTORS
from storage import clickhouse

SEALED_AFTER = 2  # days
LATE_QUEUE, LATE_OUTBOX, LATE_CLICKS, LATE_CLICKHOUSE = 30.0, 300.0, 60.0, 300.0  # seconds
CLICKS_CURE = gettext_lazy(
    "See `redis`, `beat` and `worker`: a worker counts each second what the beat asks for."
)


def ledger() -> Finding:
    """Checks the last two hours and everything open; `reconcile` checks all of it."""
    breaches = list(reconciliation.breaches(recent=True))
    detail = "; ".join(f"{breach.check}: {breach.subject}" for breach in breaches[:3])
    if len(breaches) > 3:
        detail += _("; and {count} more").format(count=len(breaches) - 3)
    cure = _(
        "Run: python manage.py reconcile for the whole list. Do not change rows by hand: "
        "see “The ledger is inconsistent” in docs/operations/failures.md."
    )
    return verdict("ledger", detail or _("no recent breach"), cure, ok=not breaches)


def seals() -> Finding:
    """Yesterday is sealed today, once no transaction of that day is open."""
    last, ago = SealedDay.last(), timezone.now() - timedelta(days=SEALED_AFTER)
    detail = (
        _("transfers are sealed to {last}").format(last=last)
        if last
        else _("no transfer is sealed yet")
    )
    cure = _(
        "See `beat` and `worker`. Look in pg_stat_activity for a transaction that has been "
        "open since that day, or whose start the application's role may not see."
    )
    is_new = not (Transfer.objects.exists() and Company.objects.filter(created_at__lt=ago).exists())
    ok = last >= ago.astimezone(UTC).date() if last else is_new
    return verdict("seals", detail, cure, ok=ok)


def queue() -> Finding:
    now = figures.queue()
    age = now.oldest_due or 0.0
    detail = _("due: {due}, the oldest for {age:.0f} s; of unknown outcome: {ambiguous}").format(
        due=now.due, age=age, ambiguous=now.ambiguous
    )
    cure = _(
        "See `worker` and the providers. With both in order there are more messages than "
        "provider threads: add a worker."
    )
    return verdict("queue", detail, cure, ok=age < LATE_QUEUE)


def outboxes() -> Finding:
    now = figures.queue()
    age = max(now.oldest_webhook or 0.0, now.oldest_email or 0.0)
    detail = _(
        "webhooks due: {webhooks}, e-mails due: {emails}, the oldest for {age:.0f} s"
    ).format(webhooks=now.webhooks, emails=now.emails, age=age)
    cure = _("See `worker`, `broker` and `mail`: a worker delivers both.")
    return verdict("outboxes", detail, cure, ok=age < LATE_OUTBOX)


def clicks() -> Finding:
    age = stream.lag_seconds()
    if age is None:
        return failed(
            "clicks", _("Redis, which holds those to be counted, does not answer"), CLICKS_CURE
        )
    return verdict(
        "clicks",
        _("the oldest uncounted for {age:.0f} s").format(age=age),
        CLICKS_CURE,
        ok=age < LATE_CLICKS,
    )


def operators() -> Finding:
    staff = User.objects.filter(is_staff=True, is_active=True)
    without_factor = staff.exclude(authenticator__type__in=FACTORS).count()
    detail = _("operators: {count}, without a second factor: {without_factor}").format(
        count=staff.count(), without_factor=without_factor
    )
    cure = _("Have them open /admin/ and set it up; nothing else opens to them until they do.")
    if not settings.OPERATOR_MFA:
        detail += _("; not asked for here")
    return verdict("operators", detail, cure, ok=not without_factor or not settings.OPERATOR_MFA)


CLICKHOUSE_CURE = gettext_lazy(
    "Start ClickHouse, or fix CLICKHOUSE_URL: see docs/operations/clickhouse.md. "
    "PostgreSQL counts every click meanwhile."
)
CLICKHOUSE_TABLE_CURE = gettext_lazy("Run: python manage.py clickhouse_tables")
CLICKHOUSE_LATE_CURE = gettext_lazy(
    "See `worker` and `beat`, then the log for clickhouse_not_written."
)


def click_copy() -> Finding:
    if not clickhouse.is_configured():
        return passed("clickhouse", _("not used"))
    try:
        if not tables.exists():
            return failed("clickhouse", _("it has no table of clicks"), CLICKHOUSE_TABLE_CURE)
        age, since = stream.sink_lag_seconds(), completeness.complete_since()
    except clickhouse.ClickHouseError as error:
        return failed("clickhouse", str(error), CLICKHOUSE_CURE)
    except (RedisError, OSError) as error:
        return failed(
            "clickhouse",
            _("Redis: {error}").format(error=type(error).__name__),
            CLICKHOUSE_LATE_CURE,
        )
    complete = (
        _("complete since {since:%Y-%m-%d %H:%M} UTC").format(since=since)
        if since
        else _("nothing written yet")
    )
    detail = _("{complete}, the oldest click waits for {age:.0f} s").format(
        complete=complete, age=age or 0
    )
    return verdict(
        "clickhouse",
        detail,
        CLICKHOUSE_LATE_CURE,
        ok=since is not None and (age or 0) < LATE_CLICKHOUSE,
    )


STATEMENT_AGE = timedelta(minutes=30)
STATEMENT_CURE = gettext_lazy(
    "Compare TBANK_TOKEN and TBANK_ACCOUNT with the bank's cabinet: the token needs "
    "the right to read operations, and our address its list; see that beat runs. "
    "Nothing is lost meanwhile: what was not read is read later."
)


def gateway_credentials() -> list[Finding]:
    """Calls each provider by its credentials, which changes nothing there."""
    return [_check(name) for name in registry.pollable()]


def bank_statement() -> list[Finding]:
    """Says when the bank account's statement was last read, if it is read at all."""
    if not settings.GATEWAY_ACCOUNTS["tbank"]["has_statement"]:
        return []
    title, row = "bank statement", StatementMark.objects.first()
    if row is not None and row.error:
        return [failed(title, row.error, STATEMENT_CURE)]
    if row is None or row.read_at is None or row.read_at < timezone.now() - STATEMENT_AGE:
        return [failed(title, _("not read for half an hour"), STATEMENT_CURE)]
    return [passed(title, _("read at {read_at:%Y-%m-%d %H:%M} UTC").format(read_at=row.read_at))]


def _check(name: str) -> Finding:
    gateway = registry.find(name)
    assert gateway is not None  # noqa: S101 - `pollable` names those that are enabled
    title = f"payments by {name}"
    try:
        gateway.check_credentials()
    except GatewayError as error:
        cure = _(
            "Compare the {prefix}_… variables with the provider's cabinet, or take {name} out "
            "of PAYMENT_GATEWAYS: until then nobody can pay by it."
        ).format(prefix=name.upper(), name=name)
        return failed(title, str(error), cure)
    return passed(
        title, _("notices come to {url}/hooks/{name}").format(url=settings.PUBLIC_URL, name=name)
    )
