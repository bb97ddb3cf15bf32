"""Statements of codes that are made of parts, or used by several modules."""

from datetime import timedelta
from functools import cache

from api import idempotency
from billing.wallet import holds
from links import sql as links_sql
from storage.months.recent_ids import limit_to_months, months_of_last
from storage.statements import sql_files

CLOCK_SKEW = timedelta(minutes=10)  # tolerance between our clock and the database's


def in_live_months(statement: str) -> str:
    """The statement for codes of recent months; older codes are history.

    In the first days of a month it also reads the month before, in the last days the month after.
    """
    return limit_to_months(statement, months_of_last(days=3))


def without_phone(text: str, phone: str) -> str:
    """The expression for the text without the phone."""
    return sql_files.fill(sql_files.read("otp/without_phone.sql"), text=text, phone=phone)


_CODES = sql_files.read_several(
    "otp/codes.sql",
    purpose_without_phone=without_phone("purpose", "phone"),
    binding_without_phone=without_phone("binding::text", "phone"),
)
SEALED_CODES = _CODES["sealed_codes"]
WIPE_EXPIRED_CODES = _CODES["wipe_expired_codes"]
ANONYMISE_PHONES = _CODES["anonymise_phones"]


@cache
def send(
    *,
    is_test: bool,
    has_link: bool,
    has_key: bool,
    link_dies: bool = False,
    has_custom_code: bool = False,
) -> str:
    """The statement of one send. Each combination is prepared once per connection."""
    inserts = {} if is_test else {"hold": holds.OPEN_HOLD}
    if has_link:
        inserts["link"] = links_sql.INSERT_WITH_CODE if link_dies else links_sql.INSERT
    if has_key:
        inserts["idempotency_key"] = idempotency.INSERT
    if has_custom_code:
        inserts["sealed_code"] = _CODES["insert_sealed_code"]
    parts = sql_files.read_several(
        "otp/send/send.sql",
        is_alone="true",
        skip_locked="",
        paid=holds.FREE if is_test else holds.HOLD_WALLET,
        inserts=sql_files.more_ctes(inserts),
    )
    return f"{parts['one_send']} {parts['accept']}"


def _group(paid: str) -> str:
    inserts = {
        "hold": holds.OPEN_HOLD,
        "idempotency_key": f"{idempotency.INSERT} WHERE idem_key IS NOT NULL",
    }
    parts = sql_files.read_several(
        "otp/send/send.sql",
        is_alone="false",
        skip_locked="SKIP LOCKED",
        paid=paid,
        inserts=sql_files.more_ctes(inserts),
    )
    return f"{parts['several_sends']} {parts['accept']}"


# Live sends in one group. Sends of one company wait for its wallet, which cannot deadlock; in a
# group of several companies a locked wallet is skipped.
SEND_OF_ONE_COMPANY = _group(holds.HOLD_WALLETS)
SEND_OF_SEVERAL_COMPANIES = _group(holds.HOLD_UNLOCKED_WALLETS)


def _check(guesses: str, is_alone: str) -> str:
    parts = sql_files.read_several("otp/check/check.sql", is_alone=is_alone)
    return f"{parts[guesses]} {parts['check']}"


CHECK_CODE = _check("one_guess", "true")
CHECK_CODES = _check("several_guesses", "false")
