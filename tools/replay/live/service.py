"""The service of a live run, what is written into its database, and what is read from it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from accounts.models import Company
from channels.models import Heartbeat, Message, OpenMessage, RouterState
from channels.routing import stored_rules
from channels.routing.learned import learned_router, phone_memories
from channels.routing.learned.smart_plan import HOLD_OUT
from channels.routing.smart.reach import PhoneMemory
from channels.routing.smart.router import Router
from channels.routing.stored_rules import StoredRule
from otp.statistics.route_learning import CLOSED_AFTER
from storage.sessions import database_now
from tools.queries import queries
from tools.replay.timeline import Outcome
from tools.stack import seed
from tools.stack.stack import Account

FAR = timedelta(days=1)
_TOKENS = queries(__file__)["tokens"].text


def companies(rules: Sequence[StoredRule]) -> list[Account]:
    """One for each rule, without a guard: it would take squeezed arrivals for an attack."""
    accounts = seed.companies(len(rules))
    for account, rule in zip(accounts, rules, strict=True):
        company = Company.objects.get(pk=account.company_id)
        stored_rules.replace_rules(company=company, rules=[rule], user=None)
    return accounts


def teach(router: Router, memories: Mapping[str, PhoneMemory], now: float) -> None:
    """Nothing is learned from sends until `start_learning`."""
    RouterState.objects.create(
        pk=RouterState.ONLY,
        version=1,
        learned_until=timezone.now() + FAR,
        state=learned_router.encode(router, now),
    )
    phone_memories.save_many(memories, now)


def start_learning() -> None:
    """Starts learning with the sends made from now on, each CLOSED_AFTER its time."""
    RouterState.objects.update(learned_until=database_now() + CLOSED_AFTER)


def is_alive() -> bool:
    """Whether worker and beat have shown themselves."""
    kinds = set(Heartbeat.objects.values_list("kind", flat=True))
    return {Heartbeat.Kind.DELIVERY, Heartbeat.Kind.BEAT} <= kinds


def is_settled() -> bool:
    """Whether no message is still to be handed over, or to fall back."""
    return not (
        OpenMessage.objects.filter(due_at__isnull=False).exists()
        or OpenMessage.objects.filter(fallback_at__isnull=False).exists()
    )


def outcomes(account: Account) -> dict[str, Outcome]:
    """The charges by phone."""
    with connection.cursor() as cursor:
        cursor.execute(_TOKENS, [account.company_id])
        return {phone: Outcome(tokens=charged) for phone, charged in cursor.fetchall()}


def held_out(account: Account) -> set[str]:
    """The phones whose codes followed the company's own order."""
    messages = Message.objects.filter(company=account.company_id, params__route__arm=HOLD_OUT)
    return set(messages.values_list("phone", flat=True))
