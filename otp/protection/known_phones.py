"""Finds the phones known to a company in its rows, by the rules of `PhoneHistory`.

A phone is known if it entered a code at least a day ago, and was sent few codes today and since its
newest correct code.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from catalogue.ids import first_id_at
from channels.guard import scope_evidence
from channels.guard.scope_evidence import KNOWN_CODES, PhoneHistory
from storage.statements import sql_files
from storage.statements.queries import fetch_tuples

KNOWN_AFTER = timedelta(seconds=scope_evidence.KNOWN_AFTER)
REMEMBERED = timedelta(days=60)  # how far back correct codes are searched
MARGIN = timedelta(minutes=5)  # an id may be older than its row
BATCH_SIZE = 2000  # phones

Send = tuple[int, str, float]  # the company, the phone, the time of acceptance

_SQL = sql_files.read_several("otp/protection/known_phones.sql")


def is_known(company_id: int, phone: str) -> bool:
    """Whether a code to this phone passes every step now."""
    now = timezone.now()
    return any(sends_to_known([(company_id, phone, now.timestamp())], now).values())


def sends_to_known(sends: Collection[Send], now: datetime) -> dict[Send, bool]:
    """Sends to phones that had entered a code a day before, and whether each passes every step."""
    of_sends = sorted(sends)
    params: dict[str, Any] = _remembered_at(now) | {
        "companies": [company_id for company_id, _phone, _created in of_sends],
        "phones": [phone for _company_id, phone, _created in of_sends],
        "created": [created for _company_id, _phone, created in of_sends],
    }
    rows = fetch_tuples(_SQL["of_sends"], params)
    return {(company, phone, at): passes for company, phone, at, passes in rows}


def histories(
    company_id: int, phones: Collection[str], moment: datetime
) -> dict[str, PhoneHistory]:
    """The histories of phones that had entered a code by then.

    They have only as many sent codes as decide whether the phone is known.
    """
    histories: dict[str, PhoneHistory] = {}
    params = _remembered_at(moment) | {"company_id": company_id, "moment": moment}
    ordered = sorted(phones)
    for start in range(0, len(ordered), BATCH_SIZE):
        batch = {"phones": ordered[start : start + BATCH_SIZE]}
        for phone, first, latest, sent in fetch_tuples(_SQL["histories"], params | batch):
            histories[phone] = PhoneHistory(first, latest, tuple(sorted(sent)))
    return histories


def _remembered_at(moment: datetime) -> dict[str, Any]:
    remembered = moment - REMEMBERED
    return {
        "known_after": KNOWN_AFTER,
        "known_codes": KNOWN_CODES,
        "remembered": remembered,
        # Codes are judged soon after they are sent, and ids begin with the time.
        "first": first_id_at(
            remembered - timedelta(seconds=settings.LONGEST_CODE_LIFETIME) - MARGIN
        ),
    }
