"""Statements that make links, on their own or inside a send."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from api import idempotency
from billing.wallet import holds
from channels import sql as channels_sql
from channels.recipients import blocked_phones
from links.models import INSERTED_COLUMNS
from storage.statements import sql_files

_NAMES = ", ".join(INSERTED_COLUMNS)


def params(row: Mapping[str, Any], lifetime: int | None) -> dict[str, Any]:
    """Parameters of the statements that make one link; `lifetime` in seconds or None."""
    link = {f"link_{name}": row[name] for name in INSERTED_COLUMNS}
    return link | {"company_id": row["company_id"], "mode": row["mode"], "link_lifetime": lifetime}


def params_of_many(
    rows: Sequence[Mapping[str, Any]], lifetimes: Sequence[int | None]
) -> dict[str, Any]:
    """Parameters of the statements that make several links of one owner."""
    arrays: dict[str, Any] = {
        f"link_{name}": [row[name] for row in rows] for name in INSERTED_COLUMNS
    }
    owner = {"company_id": rows[0]["company_id"], "mode": rows[0]["mode"]}
    return arrays | owner | {"link_lifetime": lifetimes}


_INSERT = f"""
INSERT INTO links_link (company_id, mode, message_id, expires_at, {_NAMES})
SELECT company_id, mode, {{message}}, {{expires_at}},
       {", ".join(f"%(link_{name})s::{kind}" for name, kind in INSERTED_COLUMNS.items())}
FROM payer"""  # noqa: S608
_EXPIRES_AT = "now() + make_interval(secs => %(link_lifetime)s::float)"

# Fragments of the statement that accepts a send with a link; in the second one the link dies with
# the code that it goes out with.
INSERT = _INSERT.format(message="message_id", expires_at=_EXPIRES_AT)
INSERT_WITH_CODE = _INSERT.format(message="message_id", expires_at=f"LEAST({_EXPIRES_AT}, ends_at)")

GENERATED = """
SELECT key FROM links_link WHERE key = ANY(%(keys)s::text[]) AND retired_at IS NULL AND NOT is_alias
"""

SHORTEN = f"""
WITH payer AS (SELECT %(company_id)s::bigint AS company_id, %(mode)s::text AS mode)
{_INSERT.format(message="NULL::uuid", expires_at=_EXPIRES_AT)} RETURNING expires_at
"""

# A fragment; `n` are the links in the order given.
INSERT_FROM_ARRAYS = f"""
INSERT INTO links_link (company_id, mode, expires_at, {_NAMES})
SELECT %(company_id)s, %(mode)s::text, now() + make_interval(secs => n.lifetime),
       {", ".join(f"n.{name}" for name in INSERTED_COLUMNS)}
FROM unnest({", ".join(f"%(link_{name})s::{kind}[]" for name, kind in INSERTED_COLUMNS.items())},
            %(link_lifetime)s::float[])
  WITH ORDINALITY AS n({_NAMES}, lifetime, position)"""  # noqa: S608

# Ordered by key to lock in one order, and so that the first of two equal aliases in a batch wins.
INSERT_MANY = f"""{INSERT_FROM_ARRAYS}
ORDER BY n.key, n.position ON CONFLICT DO NOTHING RETURNING id, expires_at
"""

_SEND = sql_files.read("links/make/send.sql")


@cache
def send(*, is_test: bool, has_key: bool) -> str:
    parts = "" if is_test else f",\nhold AS ({holds.HOLD_TRANSFER})"
    if has_key:
        parts += f",\nidempotency_key AS ({idempotency.INSERT})"
    return sql_files.fill(
        _SEND,
        blocking_row=blocked_phones.BLOCKING_ROW,
        payer=holds.FREE_PAYER if is_test else holds.HOLD_WALLET,
        link=INSERT,
        message=channels_sql.INSERT_MESSAGE,
        more=parts,
    )


# Links that were to live as long as these codes, which are over; locked in one order, and before
# any message.
DISABLE_WITH_CODES = """
UPDATE links_link SET disabled_at = now() WHERE id IN (
  SELECT l.id FROM channels_message m JOIN links_link l ON l.id = (m.params ->> 'link')::uuid
  WHERE m.subject_id = ANY(%s::uuid[]) AND m.id BETWEEN :first_id AND :last_id AND m.kind = 'code'
    AND l.dies_with_code AND l.disabled_at IS NULL
  ORDER BY l.id FOR UPDATE OF l)
RETURNING id, key
"""
