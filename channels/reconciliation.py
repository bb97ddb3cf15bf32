"""Proves the books: wallets, holds, resolutions and proofs against one another."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection, transaction

# name → a query that returns whatever is off. One snapshot for all, so nothing moves between.
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
          FROM billing_transfer GROUP BY company_id) t USING (company_id)
        WHERE COALESCE(w.available, 0) <> COALESCE(t.available, 0)
           OR COALESCE(w.held, 0) <> COALESCE(t.held, 0)""",
    "held differs from the open holds": """
        SELECT 'company ' || COALESCE(w.company_id, m.company_id)
        FROM billing_wallet w FULL JOIN (
          SELECT company_id, sum(price) AS held FROM channels_message
          WHERE state IN ('queued', 'sent') AND mode = 'live' GROUP BY company_id) m
        USING (company_id) WHERE COALESCE(w.held, 0) <> COALESCE(m.held, 0)""",
    "final message not resolved exactly once": """
        SELECT 'message ' || m.id FROM channels_message m
        LEFT JOIN billing_transfer t ON t.message_id = m.id
        WHERE m.state IN ('delivered', 'failed', 'expired') AND m.price > 0
        GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
          <> count(*) FILTER (WHERE t.kind IN ('capture', 'release'))
          OR count(*) FILTER (WHERE t.kind = 'hold') = 0""",
    "open message without exactly one open hold": """
        SELECT 'message ' || m.id FROM channels_message m
        LEFT JOIN billing_transfer t ON t.message_id = m.id
        WHERE m.state IN ('queued', 'sent') AND m.price > 0
        GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
          <> 1 + count(*) FILTER (WHERE t.kind IN ('capture', 'release'))""",
    "charged without proof": """
        SELECT 'message ' || t.message_id FROM billing_transfer t
        LEFT JOIN channels_message m ON m.id = t.message_id
        WHERE t.kind = 'capture' AND (t.proof = '' OR m.state IS DISTINCT FROM 'delivered'
          OR NOT EXISTS (SELECT 1 FROM channels_attempt a
                         WHERE a.message_id = m.id AND a.state = 'delivered'))""",
    "transfer of a message that does not exist": """
        SELECT 'transfer ' || t.id FROM billing_transfer t
        LEFT JOIN channels_message m ON m.id = t.message_id
        WHERE t.message_id IS NOT NULL AND m.id IS NULL""",
    "open past its deadline": """
        SELECT 'message ' || id FROM channels_message
        WHERE state IN ('queued', 'sent') AND deadline < now() - interval '1 minute'""",
}


@dataclass(frozen=True, slots=True)
class Breach:
    check: str
    subject: str


def breaches() -> Iterator[Breach]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for check, query in CHECKS.items():
            cursor.execute(query)
            for (subject,) in cursor.fetchall():
                yield Breach(check, subject)
