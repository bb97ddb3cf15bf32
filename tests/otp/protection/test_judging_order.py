"""What one look finds does not depend on which of its sends comes first."""

import time

from channels.guard.guard import Guard, GuardStep
from channels.guard.scopes import Scope, ScopeKind, scopes_of
from channels.routing.smart.decay import DAY
from otp.protection import evidence_counting


def chain(phone: str) -> tuple[Scope, ...]:
    return scopes_of(phone, "KZ")


def test_country_is_not_refused_for_a_block_that_is_found_in_the_same_look() -> None:
    """Whichever of its sends is looked at first."""
    now = time.time()
    for is_honest_first in (True, False):
        guard = Guard()
        for day in range(40):
            for n in range(30):
                guard.entered(now - 3 * DAY + 600 * day + n, chain(f"+7701{day:02}{n:02}321"))
        attacked = [chain(f"+77051234{n:03}") for n in range(40)]
        honest = chain("+77019900111")
        for n, scopes in enumerate(attacked):
            guard.missed(now + n * 0.05, scopes, 8.0)
        guard.missed(now + 2.1, honest, 8.0)
        chains = [honest, *attacked] if is_honest_first else [*attacked, honest]

        judged = evidence_counting._judge(guard, now + 2.2, chains)

        refused = {scope.kind for scope, one in judged.items() if one.step is GuardStep.REFUSE}
        assert ScopeKind.COUNTRY not in refused
        assert refused
