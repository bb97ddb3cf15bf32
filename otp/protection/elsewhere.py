"""Numbers that are under attack at other companies: watched by those who did not switch that off.

What one company sees is used and not told: fewer tokens lost are enough there, where a company's
own people have not been seen. Nothing is held back for what happened to others alone.
"""

from collections.abc import Iterable, Mapping

from accounts.models import Company
from channels.guard.scopes import CUTS, Scope
from channels.guard.scopes import ScopeKind as GuardScopeKind
from otp.models import GuardRestriction, ScopeKind

Attacked = Mapping[Scope, set[int]]  # with the companies there
OF_NUMBERS = [ScopeKind.COUNTRY.value, *(kind.value for kind, _digits in CUTS)]


def attacked_scopes() -> Attacked:
    """Countries and prefixes whose codes are held back with a proof of work or a refusal."""
    rows = GuardRestriction.objects.filter(
        ended_at=None,
        rule=GuardRestriction.Rule.UNVERIFIED,
        step__gte=GuardRestriction.Step.CHALLENGE,
        kind__in=OF_NUMBERS,
    ).values_list("kind", "value", "company_id")
    found: dict[Scope, set[int]] = {}
    for kind, value, company_id in rows:
        found.setdefault(Scope(GuardScopeKind(kind), value), set()).add(company_id)
    return found


def watching(company_ids: Iterable[int]) -> set[int]:
    rows = Company.objects.filter(pk__in=list(company_ids), guard_watches_others=True)
    return set(rows.values_list("pk", flat=True))


def watched_by(company_id: int, attacked: Attacked) -> set[Scope]:
    return {scope for scope, companies in attacked.items() if companies - {company_id}}
