"""Reconciles wallets, holds, settlements and proofs with one another."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from django.core.cache import cache
from django.db import connection, transaction

from billing.models import SealedDay, Transfer
from billing.seals.hashes import utc_start_of
from catalogue.ids import first_id_at


@dataclass(frozen=True, slots=True)
class Slice:
    """Conditions on messages `m`, their transfers `t` and their attempts `a`."""

    messages: str = "TRUE"
    transfers: str = "TRUE"
    attempts: str = "TRUE"

    @classmethod
    def of_messages(cls, after: UUID | None = None, until: UUID | None = None) -> "Slice":
        """Builds a slice. `after` is exclusive, `until` is inclusive; conditions on both tables
        choose the partitions.
        """
        bounds = [f"{{id}} > '{after}'"] if after else []
        bounds += [f"{{id}} <= '{until}'"] if until else []
        condition = " AND ".join(bounds) or "TRUE"
        ids = ("m.id", "t.message_id", "a.message_id")
        return cls(*(condition.format(id=message_id) for message_id in ids))


# Earlier runs have checked old messages. Phones are anonymised much later; the condition on them
# lets the partial index on `created_at` find recent messages.
RECENT_MESSAGES = "m.created_at > now() - interval '2 hours' AND m.phone NOT LIKE '%*'"
RECENT, ALL = Slice(RECENT_MESSAGES), Slice()
# A message is final within a day after its acceptance, or found open past its deadline.
MAX_MESSAGE_AGE = timedelta(days=3)

# Each company with its last seal. Companies come from a loose index scan: even a company without a
# wallet has transfers.
_SEALED = """
  WITH RECURSIVE payer AS (
    (SELECT company_id FROM billing_transfer ORDER BY company_id LIMIT 1)
    UNION ALL
    SELECT (SELECT t.company_id FROM billing_transfer t WHERE t.company_id > payer.company_id
            ORDER BY t.company_id LIMIT 1)
    FROM payer WHERE payer.company_id IS NOT NULL)
  SELECT company_id, COALESCE(available, 0) AS available, COALESCE(held, 0) AS held,
    COALESCE((day + 1)::timestamp AT TIME ZONE 'UTC', '-infinity') AS since
  FROM (SELECT company_id FROM payer WHERE company_id IS NOT NULL
        UNION SELECT id FROM accounts_company) AS company
  LEFT JOIN LATERAL (
    SELECT day, available, held FROM billing_seal WHERE company_id = company.company_id
    ORDER BY day DESC LIMIT 1) AS last ON true
"""
_BOOKED = f"""
  SELECT company_id, s.available + tail.available AS available, s.held + tail.held AS held
  FROM ({_SEALED}) s CROSS JOIN LATERAL (
    SELECT COALESCE(sum({Transfer.AVAILABLE}), 0) AS available,
      COALESCE(sum({Transfer.HELD}), 0) AS held
    FROM billing_transfer WHERE company_id = s.company_id AND created_at >= s.since) AS tail
"""  # noqa: S608 - constants

BALANCE_DIFFERS = "balance after a transfer differs from its transfers"


def wrong_balances(spans: str) -> str:
    """The query of wrong balances. `spans`: company_id, the balance at `since`, and the
    end of the checked transfers.
    """
    return f"""
        SELECT 'company ' || company_id || ' at ' || created_at FROM (
          SELECT s.company_id, t.created_at, balance_after, opening + sum(
            {Transfer.AVAILABLE} + {Transfer.HELD}) OVER (
              PARTITION BY s.company_id, since ORDER BY created_at, t.id)
            AS balance
          FROM ({spans}) s JOIN billing_transfer t
            ON t.company_id = s.company_id AND created_at >= since AND created_at < until) t
        WHERE balance_after <> balance"""  # noqa: S608 - constants


# name → a query that returns the breaches. All run in one snapshot, so nothing changes in between.
# `{messages}` limits the messages `m`; queries without it read the queue of open messages.
CHECKS = {
    "wallet differs from its transfers": f"""
        SELECT 'company ' || COALESCE(w.company_id, t.company_id)
        FROM billing_wallet w FULL JOIN ({_BOOKED}) t USING (company_id)
        WHERE COALESCE(w.available, 0) <> COALESCE(t.available, 0)
           OR COALESCE(w.held, 0) <> COALESCE(t.held, 0)""",  # noqa: S608
    BALANCE_DIFFERS: wrong_balances(
        f"SELECT company_id, available + held AS opening, since, 'infinity'::timestamptz AS until"  # noqa: S608
        f" FROM ({_SEALED}) s"
    ),
    "held differs from the open holds": """
        SELECT 'company ' || COALESCE(w.company_id, m.company_id)
        FROM billing_wallet w FULL JOIN (
          SELECT m.company_id, sum(m.price) AS held
          FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
          WHERE m.mode = 'live' GROUP BY m.company_id) m
        USING (company_id) WHERE COALESCE(w.held, 0) <> COALESCE(m.held, 0)""",
    "final message not resolved exactly once": """
        SELECT 'message ' || m.id FROM channels_message m
        LEFT JOIN billing_transfer t ON t.message_id = m.id AND {transfers}
        WHERE m.state IN ('delivered', 'failed', 'expired') AND m.price > 0 AND {messages}
        GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
          <> count(*) FILTER (WHERE t.kind IN ('capture', 'release')) + m.is_owed::int
          OR count(*) FILTER (WHERE t.kind = 'hold') = 0""",
    "open message without exactly one open hold": """
        SELECT 'message ' || m.id FROM channels_message m
        LEFT JOIN billing_transfer t ON t.message_id = m.id AND {transfers}
        WHERE m.state IN ('queued', 'sent') AND m.price > 0 AND {messages}
        GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
          <> 1 + count(*) FILTER (WHERE t.kind IN ('capture', 'release'))""",
    "charged without proof": """
        SELECT DISTINCT 'message ' || t.message_id FROM billing_transfer t
        LEFT JOIN channels_message m ON m.id = t.message_id
        LEFT JOIN channels_attempt a
          ON a.message_id = t.message_id AND a.state = 'delivered' AND {attempts}
        WHERE {messages} AND {transfers} AND t.kind = 'capture'
          AND (t.proof = '' OR m.state IS DISTINCT FROM 'delivered' OR a.id IS NULL)""",
    "closed month differs from its charges or the month before": """
        SELECT 'company ' || company_id || ' in ' || to_char(month, 'YYYY-MM') FROM (
          SELECT company_id, month, opening, spent, lag(closing) OVER months AS before,
            lag(month) OVER months AS last, COALESCE((
              SELECT sum((charge->>'tokens')::bigint)
              FROM jsonb_array_elements(charges) AS charge), 0) AS charged
          FROM billing_closedmonth WINDOW months AS (PARTITION BY company_id ORDER BY month)) AS c
        WHERE charged <> spent OR opening <> before OR last + interval '1 month' <> month""",
    "lots of tokens differ from the last closed month": """
        SELECT 'company ' || company_id FROM (
          SELECT DISTINCT ON (company_id) company_id, closing FROM billing_closedmonth
          ORDER BY company_id, month DESC) AS c
        WHERE closing <> (
          SELECT COALESCE(sum(tokens - used - withdrawn), 0) FROM billing_lot l
          WHERE l.company_id = c.company_id)""",
    "documents differ from their closed month": """
        SELECT 'company ' || company_id || ' in ' || to_char(month, 'YYYY-MM')
        FROM billing_closedmonth c WHERE NOT is_due AND (
            SELECT COALESCE(sum((charge->>'amount')::numeric), 0)
            FROM jsonb_array_elements(charges) AS charge)
          <> (SELECT COALESCE(sum(amount), 0) FROM billing_document d
              WHERE d.company_id = c.company_id AND d.month = c.month AND d.kind = 'closing')""",
    "transfer of a message that does not exist": """
        SELECT 'transfer ' || t.id FROM billing_transfer t
        LEFT JOIN channels_message m ON m.id = t.message_id AND {messages}
        WHERE t.message_id IS NOT NULL AND m.id IS NULL AND {transfers}""",
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
        SELECT 'message ' || message_id FROM channels_openmessage
        WHERE deadline < now() - interval '1 minute'""",
    "owed without a try in a vendor's hands": """
        SELECT 'message ' || m.id
        FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
        WHERE m.is_owed AND (m.state <> 'delivered' OR NOT EXISTS (
          SELECT 1 FROM channels_attempt a WHERE a.message_id = m.id AND a.hold = m.hold
            AND a.state IN ('submitting', 'ambiguous', 'sent')))""",
    "hold of another price than its message": """
        SELECT 'message ' || m.id
        FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
        JOIN billing_transfer t ON t.message_id = m.id AND t.hold = m.hold AND t.kind = 'hold'
        WHERE t.amount <> m.price""",
    "open message missing from the queue": """
        SELECT 'message ' || m.id FROM channels_message m
        WHERE (m.state IN ('queued', 'sent') OR m.is_owed) AND {messages}
          AND NOT EXISTS (SELECT 1 FROM channels_openmessage o WHERE o.message_id = m.id)""",
    "queued otherwise than its message": """
        SELECT 'message ' || o.message_id
        FROM channels_openmessage o LEFT JOIN channels_message m ON m.id = o.message_id
        LEFT JOIN channels_attempt a ON a.message_id = o.message_id
          AND a.state IN ('submitting', 'ambiguous', 'sent')
        WHERE (m.state IN ('queued', 'sent') OR m.is_owed) IS NOT TRUE
          OR (o.priority, o.due_at, o.useful_until, o.deadline, o.fallback_at, o.route_key)
            IS DISTINCT FROM (m.priority, m.due_at, m.useful_until, m.deadline, m.fallback_at,
              concat_ws(' ', m.mode, m.channel, m.content))
          OR o.attempt_id IS DISTINCT FROM a.id""",
}
FULL_SCAN_CHECKS = {
    "wallet differs from its transfers",
    BALANCE_DIFFERS,
    "transfer of a message that does not exist",
    "credited without a paid top-up",
    "closed month differs from its charges or the month before",
    "lots of tokens differ from the last closed month",
    "documents differ from their closed month",
}
REMEMBERED = {"recent": 900, "changed": 43_200, "full": 15 * 86_400}  # seconds; two runs
MAX_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class Breach:
    check: str
    subject: str


def breaches(*, recent: bool = False) -> Iterator[Breach]:
    """Yields every breach in changes since the last sealed day, or, with `recent`, in the last two
    hours. The whole history is left to `full_reconciliation`, unless nothing is sealed yet.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if not recent:
            cursor.execute("SET LOCAL statement_timeout = 0")
        checks = CHECKS.keys() - FULL_SCAN_CHECKS if recent else CHECKS.keys()
        yield from run(checks, RECENT if recent else since_last_seal())


def since_last_seal() -> Slice:
    sealed = SealedDay.last()
    if sealed is None:
        return ALL
    open_from = utc_start_of(sealed + timedelta(days=1))
    return Slice.of_messages(after=first_id_at(open_from - MAX_MESSAGE_AGE))


def run(names: Collection[str], part: Slice) -> Iterator[Breach]:
    """Runs these checks, in their own order, in the caller's transaction."""
    with connection.cursor() as cursor:
        for check, query in CHECKS.items():
            if check in names:
                cursor.execute(query.format(**asdict(part)))
                for (subject,) in cursor.fetchall():
                    yield Breach(check, subject)


def remember(breaches: Iterable[Breach], check_kind: str) -> None:
    """Stores the findings of a scheduled check for the operators' alerts,
    until the next two checks.
    """
    texts = [f"{breach.check}: {breach.subject}" for breach in breaches]
    cache.set(_key(check_kind), texts[:MAX_REMEMBERED], REMEMBERED[check_kind])


def recent_breaches() -> list[str]:
    cached = cache.get_many([_key(check_kind) for check_kind in REMEMBERED])
    return list(dict.fromkeys(text for texts in cached.values() for text in texts))


def _key(check_kind: str) -> str:
    return f"ledger_breaches:{check_kind}"
