"""Reconciles wallets, holds, settlements and proofs with one another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.core.cache import cache
from django.db import connection, transaction

from billing.wallet.running_balances import EVERY_WRONG

# Earlier runs have checked old messages. Phones are anonymised much later; the condition on them
# lets the partial index on `created_at` find recent messages.
RECENT_MESSAGES = "m.created_at > now() - interval '2 hours' AND m.phone NOT LIKE '%*'"
ALL_MESSAGES = "TRUE"

# name → a query that returns the breaches. All run in one snapshot, so nothing changes in between.
# `{scope}` limits the messages `m`; queries without it are limited by an index on open messages.
CHECKS = {
    "wallet differs from its transfers": """
        SELECT 'company ' || COALESCE(w.company_id, t.company_id)
        FROM billing_wallet w FULL JOIN (
          SELECT company_id,
            sum(CASE kind WHEN 'top_up' THEN amount WHEN 'grant' THEN amount
                          WHEN 'release' THEN amount ELSE 0 END)
            - sum(CASE kind WHEN 'withdraw' THEN amount WHEN 'hold' THEN amount ELSE 0 END)
              AS available,
            sum(CASE kind WHEN 'hold' THEN amount WHEN 'capture' THEN -amount
                          WHEN 'release' THEN -amount ELSE 0 END) AS held
          FROM (SELECT company_id, kind, amount FROM billing_transfer UNION ALL
                SELECT company_id, kind, tokens FROM billing_archivedsum) AS booked
          GROUP BY company_id) t USING (company_id)
        WHERE COALESCE(w.available, 0) <> COALESCE(t.available, 0)
           OR COALESCE(w.held, 0) <> COALESCE(t.held, 0)""",
    "running balance differs from its transfers": f"""
        SELECT 'company ' || company_id || ' at ' || created_at FROM ({EVERY_WRONG}) AS wrong""",  # noqa: S608 - constants
    "held differs from the open holds": """
        SELECT 'company ' || COALESCE(w.company_id, m.company_id)
        FROM billing_wallet w FULL JOIN (
          SELECT company_id, sum(price) AS held FROM channels_message
          WHERE (state IN ('queued', 'sent') OR is_owed) AND mode = 'live' GROUP BY company_id) m
        USING (company_id) WHERE COALESCE(w.held, 0) <> COALESCE(m.held, 0)""",
    "final message not resolved exactly once": """
        SELECT 'message ' || m.id FROM channels_message m
        LEFT JOIN billing_transfer t ON t.message_id = m.id
        WHERE m.state IN ('delivered', 'failed', 'expired') AND m.price > 0 AND {scope}
        GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
          <> count(*) FILTER (WHERE t.kind IN ('capture', 'release')) + m.is_owed::int
          OR count(*) FILTER (WHERE t.kind = 'hold') = 0""",
    "open message without exactly one open hold": """
        SELECT 'message ' || m.id FROM channels_message m
        LEFT JOIN billing_transfer t ON t.message_id = m.id
        WHERE m.state IN ('queued', 'sent') AND m.price > 0 AND {scope}
        GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
          <> 1 + count(*) FILTER (WHERE t.kind IN ('capture', 'release'))""",
    "charged without proof": """
        SELECT 'message ' || t.message_id FROM billing_transfer t
        LEFT JOIN channels_message m ON m.id = t.message_id
        WHERE {scope} AND t.kind = 'capture'
          AND (t.proof = '' OR m.state IS DISTINCT FROM 'delivered'
            OR NOT EXISTS (SELECT 1 FROM channels_attempt a
                           WHERE a.message_id = m.id AND a.state = 'delivered'))""",
    "transfer of a message that does not exist": """
        SELECT 'transfer ' || t.id FROM billing_transfer t
        LEFT JOIN channels_message m ON m.id = t.message_id
        WHERE t.message_id IS NOT NULL AND m.id IS NULL""",
    "paid top-up not credited exactly once": """
        SELECT 'top-up ' || o.id FROM billing_order o
        LEFT JOIN billing_transfer t
          ON t.key = 'top_up:' || replace(o.id::text, '-', '') AND t.message_id IS NULL
        WHERE o.state = 'paid' AND (t.id IS NULL OR t.kind <> 'top_up'
          OR t.company_id <> o.company_id OR t.amount <> o.tokens
          OR 1 <> (SELECT count(*) FROM billing_payment p WHERE p.order_id = o.id
                   AND p.is_credited))""",
    "credited without a paid top-up": """
        SELECT 'transfer ' || t.id FROM billing_transfer t
        LEFT JOIN billing_order o
          ON t.key = 'top_up:' || replace(o.id::text, '-', '') AND o.state = 'paid'
        WHERE t.kind = 'top_up' AND o.id IS NULL""",
    "credited payment of an unpaid top-up": """
        SELECT 'payment ' || p.id FROM billing_payment p
        LEFT JOIN billing_order o ON o.id = p.order_id
        WHERE p.is_credited AND o.state IS DISTINCT FROM 'paid'""",
    "open past its deadline": """
        SELECT 'message ' || id FROM channels_message
        WHERE (state IN ('queued', 'sent') OR is_owed)
          AND deadline < now() - interval '1 minute'""",
    "owed without a try in a vendor's hands": """
        SELECT 'message ' || m.id FROM channels_message m
        WHERE m.is_owed AND (m.state <> 'delivered' OR NOT EXISTS (
          SELECT 1 FROM channels_attempt a WHERE a.message_id = m.id AND a.hold = m.hold
            AND a.state IN ('submitting', 'ambiguous', 'sent')))""",
    "hold of another price than its message": """
        SELECT 'message ' || m.id FROM channels_message m JOIN billing_transfer t
          ON t.message_id = m.id AND t.hold = m.hold AND t.kind = 'hold'
        WHERE (m.state IN ('queued', 'sent') OR m.is_owed) AND t.amount <> m.price""",
}
FULL_SCAN_CHECKS = {
    "wallet differs from its transfers",
    "running balance differs from its transfers",
    "transfer of a message that does not exist",
    "credited without a paid top-up",
}
REMEMBERED = {True: ("ledger_breaches:recent", 900), False: ("ledger_breaches:whole", 43_200)}
MAX_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class Breach:
    check: str
    subject: str


def breaches(*, recent: bool = False) -> Iterator[Breach]:
    """Yields every breach; `recent` skips checks of the whole history, and old messages."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if not recent:
            cursor.execute("SET LOCAL statement_timeout = 0")
        for check, query in _checks(recent=recent):
            cursor.execute(query)
            for (subject,) in cursor.fetchall():
                yield Breach(check, subject)


def _checks(*, recent: bool) -> Iterator[tuple[str, str]]:
    for check, query in CHECKS.items():
        if not (recent and check in FULL_SCAN_CHECKS):
            yield check, query.format(scope=RECENT_MESSAGES if recent else ALL_MESSAGES)


def remember(found: Iterable[Breach], *, recent: bool) -> None:
    """Keeps what a check of the schedule found, for the operators' alerts, until the next two."""
    key, seconds = REMEMBERED[recent]
    texts = [f"{breach.check}: {breach.subject}" for breach in found]
    cache.set(key, texts[:MAX_REMEMBERED], seconds)


def remembered() -> list[str]:
    kept = cache.get_many([key for key, _seconds in REMEMBERED.values()])
    return list(dict.fromkeys(text for texts in kept.values() for text in texts))
