"""The assembled hot statements as files, to be read, reviewed in a diff and explained.

After a change on purpose: `GOLDEN_SQL=write make test ARGS="tests/golden_sql"`.
To explain one: `EXPLAIN (GENERIC_PLAN)` in psql, with the file's placeholders as $1, $2 ….
"""

import os
import re
from pathlib import Path
from textwrap import wrap

import pytest
from django.db import connection

from accounts.keys import api_keys
from billing.wallet import ledger
from channels import sql as channels_sql
from channels.outcomes import receipts_sql
from links import sql as links_sql
from links.clicks import counting
from links.make import reuse
from otp import sql as otp_sql
from webhooks import sql as webhooks_sql

FOLDER = Path(__file__).parent
STATEMENTS = {
    "read_api_keys": api_keys._READ.format(texts=api_keys.column_sql()),
    "send_code": otp_sql.send(is_test=False, has_link=False, has_key=False),
    "send_code_with_link": otp_sql.send(is_test=False, has_link=True, has_key=True),
    "send_code_with_test_key": otp_sql.send(is_test=True, has_link=False, has_key=False),
    "send_codes_together": otp_sql.send_together(of_one_company=False),
    "send_codes_together_of_one_company": otp_sql.send_together(of_one_company=True),
    "check_code": otp_sql.CHECK_CODE,
    "check_codes_together": otp_sql.CHECK_CODES,
    "explain_refused_code": otp_sql.REFUSAL_STATE,
    "settle_finished_codes": otp_sql.SETTLE_FINISHED,
    "settle_verified_codes": otp_sql.SETTLE_VERIFIED,
    "shorten_link": links_sql.SHORTEN,
    "shorten_links": links_sql.INSERT_MANY,
    "find_or_create_link": reuse._FIND_OR_CREATE,
    "send_link": links_sql.send(is_test=False, has_key=False),
    "count_clicks": counting.COUNT,
    "claim_messages": channels_sql.CLAIM,
    "claim_messages_of_limited_accounts": channels_sql.CLAIM_COUNTED,
    "accept_as_claimed": channels_sql.ACCEPT_AS_CLAIMED,
    "update_attempts": channels_sql.UPDATE_ATTEMPTS,
    "update_messages": channels_sql.UPDATE_MESSAGES,
    "store_receipt": receipts_sql.store(has_recipients=True, skips_known=True),
    "match_receipts": receipts_sql.DUE_RECEIPTS,
    "deliver_unchanged": receipts_sql.DELIVER_UNCHANGED,
    "append_message_events": channels_sql.APPEND_MESSAGE_EVENTS,
    "capture_holds": ledger._CAPTURE,
    "settle_holds": ledger._RELEASE,
    "move_holds": ledger._MOVE_HOLDS,
    "claim_webhook_deliveries": webhooks_sql.CLAIM,
    "record_webhook_deliveries": webhooks_sql.UPDATE_DELIVERIES,
}
COMMENT = re.compile(r"--.*")
CLAUSE = re.compile(
    r" (?=(?:FROM|WHERE|SET|RETURNING|ORDER BY|GROUP BY|LIMIT|LEFT JOIN|JOIN|CROSS JOIN|UNION ALL"
    r"|ON CONFLICT|VALUES)\b)|(?<=\),) (?=\w+ AS )"
    r"|(?<=\() ?(?=(?:SELECT|UPDATE|INSERT|DELETE|WITH)\b)|(?<=\)) (?=(?:SELECT|INSERT)\b)"
)
PLACEHOLDER = re.compile(r"%\((\w+)\)s|%s|%%")


def readable(statement: str) -> str:
    """A clause a line, indented by the depth of its parentheses."""
    depth, lines = 0, []
    for clause in CLAUSE.split(" ".join(COMMENT.sub("", statement).split())):
        lines += wrap(
            clause, 100, initial_indent="  " * depth, subsequent_indent="  " * depth + "  "
        )
        depth += clause.count("(") - clause.count(")")
    return "\n".join(lines) + "\n"


def numbered(statement: str) -> str:
    """With $1, $2 … for psycopg's placeholders, as its server-side cursors send them."""
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        name = match[1] or f"positional {len(names)}"
        return f"${names.setdefault(name, len(names) + 1)}"

    return PLACEHOLDER.sub(number, statement)


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_is_as_its_file_says(name: str) -> None:
    file, assembled = FOLDER / f"{name}.sql", readable(STATEMENTS[name])
    if os.environ.get("GOLDEN_SQL") == "write":
        file.write_text(assembled, encoding="utf-8")

    assert file.read_text(encoding="utf-8") == assembled


def test_every_file_has_a_statement() -> None:
    assert {file.stem for file in FOLDER.glob("*.sql")} == set(STATEMENTS)


@pytest.mark.django_db
@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_can_be_explained(name: str) -> None:
    with connection.cursor() as cursor:
        statement = numbered(channels_sql.recent(STATEMENTS[name]))
        cursor.execute(f"EXPLAIN (GENERIC_PLAN) {statement}".replace("%", "%%"))

        assert cursor.fetchall()
