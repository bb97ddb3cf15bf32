"""Numbers that are under attack at other companies: watched by those who did not switch that off.

What one company sees is used and not told: fewer tokens lost are enough there for a proof of work,
where a company's own people have not been seen. Nothing is held back for what happened to others
alone, and nothing is refused for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import Company
from channels.guard.scopes import CUTS, Scope
from channels.guard.scopes import ScopeKind as GuardScopeKind
from otp.models import GuardRestriction, ScopeKind

OF_NUMBERS = [ScopeKind.COUNTRY.value, *(kind.value for kind, _digits in CUTS)]


@dataclass(frozen=True, slots=True)
class AttackedNumbers:
    """Countries and prefixes, with the companies that are attacked there."""

    companies: Mapping[Scope, set[int]]
    unaware: set[int]  # companies that do not want to know

    def watched_by(self, company_id: int) -> set[Scope]:
        if company_id in self.unaware:
            return set()
        return {scope for scope, found in self.companies.items() if found - {company_id}}


def attacked_numbers() -> AttackedNumbers:
    """Where codes are held back with a proof of work or a refusal. A company that only watches says
    nothing to others: whatever it loses, nothing ends there. Nor does one that holds back sooner
    than usual because of others: each of the two would be the other's reason.
    """
    rows = GuardRestriction.objects.filter(
        ended_at=None,
        is_enforced=True,
        is_early=False,
        rule=GuardRestriction.Rule.UNVERIFIED,
        step__gte=GuardRestriction.Step.CHALLENGE,
        kind__in=OF_NUMBERS,
    ).values_list("kind", "value", "company_id")
    found: dict[Scope, set[int]] = {}
    for kind, value, company_id in rows:
        found.setdefault(Scope(GuardScopeKind(kind), value), set()).add(company_id)
    unaware = (
        Company.objects.filter(guard_watches_others=False) if found else Company.objects.none()
    )
    return AttackedNumbers(found, set(unaware.values_list("pk", flat=True)))
