"""Each guard of a hold tested alone, where no other guard hides its absence.

Tokens of another message are held as well: else the wallet's own refusal to fall below zero would
stand in for whichever guard is missing.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import transaction

from accounts.models import Company
from billing.wallet import ledger
from billing.wallet.ledger import DeliveryProof, Settlement, TransferKind
from tests.api.blocking import start_blocked
from tests.billing.wallet.test_ledger import balance, captured, hold, settle
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def company() -> Company:
    """A company with 20 tokens, five of them held for a message that nobody settles here."""
    company: Company = CompanyFactory.create()
    ledger.grant(company=company, amount=20, reason="gift")
    hold(company, 5)
    return company


@pytest.mark.django_db(transaction=True)
def test_hold_is_settled_once_while_others_are_open(company: Company) -> None:
    """The second statement looks before the first commits, and so sees no settlement."""
    released = hold(company, 5)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            settle(released)
            late = start_blocked(pool, partial(settle, released))
        late.result()

    assert balance(company) == (15, 5)


@pytest.mark.parametrize("is_captured_first", [True, False])
def test_hold_is_captured_or_released_never_both(company: Company, is_captured_first: bool) -> None:
    release = hold(company, 5)
    first, second = (
        (captured(release), release) if is_captured_first else (release, captured(release))
    )

    settle(first)
    settle(second)

    assert balance(company) == (10 if is_captured_first else 15, 5)


def test_message_is_charged_once_while_others_are_open(company: Company) -> None:
    release = hold(company, 5)
    settle(captured(release))

    settle(
        Settlement(company.pk, release.message_id, 2, 5, TransferKind.CAPTURE, DeliveryProof.CLICK)
    )

    assert balance(company) == (10, 5)
