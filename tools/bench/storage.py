"""What a message costs the disk: `python -m tools.bench.storage --messages 20000`.

Bytes of tables and indexes, write-ahead log of each step, and the share of updates that wrote no
index (HOT). The steps are the product's own statements, as `floors.end_to_end_floor` groups them.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.core.management import call_command

from tools.command_line import parser, say
from tools.stack.stack import temporary_stack

IN_FLIGHT = 4  # accepted, not yet delivered
LARGE = ["channels_message", "channels_attempt", "channels_receipt", "otp_verification",
         "billing_transfer", "webhooks_event"]  # fmt: skip
SIZES = """
SELECT p.root, CASE WHEN c.relkind = 'i' THEN i.relname ELSE '' END AS name,
  sum(pg_relation_size(c.oid)) AS bytes
FROM (SELECT root, COALESCE(relid, root::regclass) AS relid FROM unnest(%s::text[]) AS root
      LEFT JOIN LATERAL pg_partition_tree(root::regclass) ON true) p
JOIN LATERAL (
  SELECT p.relid AS oid, NULL::oid AS parent UNION ALL
  SELECT indexrelid, inhparent FROM pg_index LEFT JOIN pg_inherits ON inhrelid = indexrelid
  WHERE indrelid = p.relid) parts ON true
JOIN pg_class c ON c.oid = parts.oid AND c.relkind IN ('r', 'i')
LEFT JOIN pg_class i ON i.oid = COALESCE(parts.parent, parts.oid)
GROUP BY 1, 2 HAVING sum(pg_relation_size(c.oid)) > 8192 * 8 ORDER BY 1, 2
"""
HOT = """
SELECT root, sum(n_tup_upd), sum(n_tup_hot_upd)
FROM unnest(%s::text[]) AS root LEFT JOIN LATERAL pg_partition_tree(root::regclass) t ON true
JOIN pg_stat_user_tables s ON s.relid = COALESCE(t.relid, root::regclass)
GROUP BY 1 HAVING sum(n_tup_upd) > 0 ORDER BY 1
"""
WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


def main() -> int:
    options = parser("python -m tools.bench.storage", __doc__)
    options.add_argument("--messages", type=int, default=20_000)
    many = options.parse_args().messages
    with temporary_stack("storage", durable=False) as stack:
        stack.set_up_django()
        call_command("migrate", verbosity=0)
        # Full pages depend on the time between two checkpoints, not on messages.
        _execute("ALTER SYSTEM SET full_page_writes = off")
        _execute("SELECT pg_reload_conf()")
        for name, size in _run(many).items():
            say(f"WAL of {name:<10} {size / many:8,.0f} bytes a message")
        _execute("SELECT pg_stat_force_next_flush()")
        for table, updates, hot in _rows(HOT, _tables()):
            say(f"HOT {table:<24} {hot / updates:6.1%} of {updates / many:.2f} updates a message")
        _say_sizes(many)
    return 0


def _say_sizes(many: int) -> None:
    total = 0
    for table, index, size in _rows(SIZES, _tables()):
        total += size
        say(f"{size / many:8,.0f}  {table} {index}")
    say(f"{total / many:8,.0f}  bytes a message")


def _tables() -> list[str]:
    rows = _rows("SELECT to_regclass('channels_openmessage')::text")
    return [*LARGE, *(name for (name,) in rows if name)]


def _run(many: int) -> Counter[str]:
    """Bytes of write-ahead log by step, of all messages."""
    from tools.bench.floors import end_to_end_floor  # noqa: PLC0415 - needs Django set up
    from tools.stack import seed  # noqa: PLC0415

    accounts = [(row.company_id, row.key_id) for row in seed.companies(10)]
    phones = seed.Phones().take(many)
    spent: Counter[str] = Counter()

    def meter(name: str, step: Callable[..., object], *args: object) -> None:
        ((before,),) = _rows(WAL)
        step(*args)
        ((after,),) = _rows(WAL)
        spent[name] += after - before

    _execute("VACUUM")
    _execute("CHECKPOINT")
    with ThreadPoolExecutor(1) as pool:
        for start in range(0, many, IN_FLIGHT):
            group = phones[start : start + IN_FLIGHT]
            path = end_to_end_floor.Path(accounts, pool)
            meter("send", _send, path, group)
            meter("deliver", path.deliver, len(group))
            meter("verify", _verify, accounts, group)
    return spent


def _send(path: Any, phones: Sequence[str]) -> None:
    for number, phone in enumerate(phones):
        path.send(number, phone)


def _verify(accounts: Sequence[Sequence[int]], phones: Sequence[str]) -> None:
    from otp.settlement import settle_verified  # noqa: PLC0415 - needs Django set up
    from tools.bench.floors import views  # noqa: PLC0415

    for number, phone in enumerate(phones):
        company, _key = accounts[number % len(accounts)]
        _execute(views.CHECK, views.check_params(company, phone))
    settle_verified()


def _execute(statement: str, params: Any = None) -> None:
    from django.db import connection  # noqa: PLC0415 - needs Django set up

    with connection.cursor() as cursor:
        cursor.execute(statement, params)


def _rows(statement: str, *params: Any) -> list[tuple[Any, ...]]:
    from django.db import connection  # noqa: PLC0415 - needs Django set up

    with connection.cursor() as cursor:
        cursor.execute(statement, params or None)
        return list(cursor.fetchall())


if __name__ == "__main__":
    sys.exit(main())
