"""Sums over a database, which a restored copy of it must have too."""

from django.db import connection

# Partitions count with their table.
_TABLES = """
SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
WHERE n.nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname
"""
# Independent of the order of rows, and of the server's version.
DIGEST = "COALESCE(sum(('x' || substr(md5(t::text), 1, 15))::bit(60)::bigint), 0)"
_WALLETS = "SELECT COALESCE(sum(available), 0), COALESCE(sum(held), 0) FROM billing_wallet"
_TRANSFERS = "SELECT kind, count(*), sum(amount) FROM billing_transfer GROUP BY kind ORDER BY kind"
BOOKS = ("billing_order", "billing_payment", "billing_transfer", "billing_wallet")
AVAILABLE, HELD = "tokens available", "tokens held"

Sums = dict[str, str]


def book_sums() -> Sums:
    """Rows of each table, tokens by wallet and by kind of transfer, digests of the books.

    The caller's transaction has to read one snapshot.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TimeZone = 'UTC'")
        cursor.execute(_TABLES)
        tables = [table for (table,) in cursor.fetchall()]
        rows = {f"rows of {table}": _value("count(*)", table) for table in tables}
        digests = {f"digest of {table}": _value(DIGEST, table) for table in BOOKS}
        cursor.execute(_TRANSFERS)
        transfers = {f"tokens by {kind}": f"{n} × {sum_}" for kind, n, sum_ in cursor.fetchall()}
    return rows | digests | transfers | token_sums()


def token_sums() -> Sums:
    with connection.cursor() as cursor:
        cursor.execute(_WALLETS)
        available, held = cursor.fetchone()
    return {AVAILABLE: str(available), HELD: str(held)}


def differences(expected: Sums, found: Sums) -> list[str]:
    """What differs, worded; a table that only one side has differs too."""
    return [
        f"{name}: {found.get(name, 'absent')} instead of {expected.get(name, 'absent')}"
        for name in sorted(expected.keys() | found.keys())
        if expected.get(name) != found.get(name)
    ]


def _value(expression: str, table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression} FROM {table} t")  # noqa: S608 - names of ours
        return str(cursor.fetchone()[0])
