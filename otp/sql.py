"""SQL of codes: sends, checks, and the fragments that several statements share."""

from datetime import timedelta
from functools import cache

from api import idempotency
from billing.wallet import holds
from channels import sql as channels_sql
from channels.recipients import blocked_phones
from links import sql as links_sql
from storage.months.recent_ids import months_of_last, within
from storage.statements import sql_files

CLOCK_SKEW = timedelta(minutes=10)  # tolerance between our clock and the database's


def in_live_months(statement: str) -> str:
    """The statement for codes of recent months; older codes are history. In the first days of a
    month it also reads the month before, in the last days the month after.
    """
    return within(statement, months_of_last(days=3))


SEALED_CODES = "SELECT message_id, key_id, sealed FROM otp_sealedcode WHERE message_id = ANY(%s)"
# A fragment of the send's statement, and the clean-up at the end of a code's life.
INSERT_SEALED_CODE = """
INSERT INTO otp_sealedcode (message_id, verification_id, key_id, sealed, expires_at)
SELECT message_id, subject_id, %(sealed_key_id)s::text, %(sealed)s::bytea, useful_until
FROM payer"""
WIPE_EXPIRED_CODES = "DELETE FROM otp_sealedcode WHERE expires_at <= now()"

_SEND = sql_files.read("otp/send/send.sql")
_FRAGMENTS = {
    "blocking_row": blocked_phones.BLOCKING_ROW,
    "message_columns": channels_sql.MESSAGE_COLUMNS,
    "message": channels_sql.INSERT_MESSAGE,
}


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
    parts = "" if is_test else f",\nhold AS ({holds.HOLD_TRANSFER})"
    if has_link:
        insert = links_sql.INSERT_WITH_CODE if link_dies else links_sql.INSERT
        parts += f",\nlink AS ({insert})"
    if has_key:
        parts += f",\nidempotency_key AS ({idempotency.INSERT})"
    if has_custom_code:
        parts += f",\nsealed_code AS ({INSERT_SEALED_CODE})"
    statement = sql_files.fill(
        _SEND,
        is_alone="true",
        skip_locked="",
        payer=holds.FREE_PAYER if is_test else holds.HOLD_WALLET,
        more=parts,
        **_FRAGMENTS,
    )
    return sql_files.with_scalar_params(statement)


def _group(payer: str) -> str:
    return sql_files.fill(
        _SEND,
        is_alone="false",
        skip_locked="SKIP LOCKED",
        payer=payer,
        more=f""",
hold AS ({holds.HOLD_TRANSFER}),
idempotency_key AS ({idempotency.INSERT} WHERE idem_key IS NOT NULL)""",
        **_FRAGMENTS,
    )


# Live sends in one group. Sends of one company wait for its wallet, which cannot deadlock; in a
# group of several companies a locked wallet is skipped.
SEND_OF_ONE_COMPANY = _group(holds.HOLD_WALLETS)
SEND_OF_SEVERAL_COMPANIES = _group(holds.HOLD_FREE_WALLETS)

_CHECK = sql_files.read("otp/check/check.sql")
CHECK_CODE = sql_files.fill(sql_files.with_scalar_params(_CHECK), is_alone="true")
CHECK_CODES = sql_files.fill(_CHECK, is_alone="false")

# Also supersedes the codes: two shortened phones could collide on the unique index of live rows.
ANONYMISE_PHONES = """
UPDATE otp_verification
SET superseded_at = COALESCE(superseded_at, now()),
  settled_at = CASE WHEN verified_at IS NULL THEN now() ELSE settled_at END,
  phone = left(phone, 5) || '*'
WHERE id IN (SELECT id FROM otp_verification
             WHERE created_at < now() - make_interval(days => %s) AND phone NOT LIKE '%%*'
             ORDER BY created_at LIMIT %s)
"""
