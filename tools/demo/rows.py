"""The rows of made-up messages, column by column: each statement reads `demo_message`."""

from collections.abc import Mapping
from dataclasses import dataclass

KEY_ID = "past"  # not in OTP_KEYS: these codes cannot be derived

# Of every hundred, 60 go by the first channel, 25 by the second, 15 by the third; 93 arrive,
# 4 fail, 3 expire. `links` and `fallbacks` are shares of a hundred as well.
SHARES = [60, 85]


def _id(first: int) -> str:
    """A UUIDv7 of the message's time; each `first` gives another one."""
    return f"(stamp || substr(g, {first}, 3) || '8' || substr(g, {first // 3 + 1}, 15))::uuid"


_NUMBER = "('x' || substr({text}, {first}, 15))::bit(60)::bigint"
_PRICE = "(%(prices)s::int[])[array_position(%(channels)s::text[], {channel})]"

# Materialized: an expression of a step would otherwise be computed for each of its uses.
GENERATE = f"""
CREATE TEMPORARY TABLE demo_message AS
WITH hashed AS MATERIALIZED (
  SELECT n, md5(%(seed)s::text || ' ' || n) AS h
  FROM generate_series(%(first)s::bigint, %(first)s::bigint + %(count)s - 1) AS n),
drawn AS MATERIALIZED (
  SELECT g, {_NUMBER.format(text="h", first=1)} AS x,
    {_NUMBER.format(text="h", first=16)} AS y, {_NUMBER.format(text="g", first=1)} AS z
  FROM (SELECT h, md5(h) AS g FROM hashed OFFSET 0) AS twice),
placed AS MATERIALIZED (
  SELECT g, x, z, %(start)s::timestamptz + %(length)s::interval * (mod(y, 1000000000) / 1e9) AS at,
    1 + width_bucket(mod(y / 1000000000, 1000000) / 1e6::float8, %(weights)s::float8[]) AS place,
    mod(z / 100, 100) < %(fallbacks)s AS fell_back
  FROM drawn),
described AS MATERIALIZED (
  SELECT *,
    lpad(to_hex(floor(EXTRACT(epoch FROM at) * 1000)::bigint), 12, '0') || '7' AS stamp,
    CASE WHEN mod(z, 100) < %(links)s THEN 'link' ELSE 'code' END AS kind,
    mod(z, 100) < %(links)s * 3 / 2 AS has_link,
    mod(z / 1000000, 100) < %(links)s AS has_other_link,
    (%(channels)s::text[])[CASE WHEN fell_back THEN array_length(%(channels)s::text[], 1)
      ELSE 1 + width_bucket(mod(x, 100), %(shares)s::bigint[]) END] AS channel,
    CASE WHEN fell_back THEN (%(channels)s::text[])[1] END AS first_channel,
    CASE WHEN mod(x / 100, 100) < 93 THEN 'delivered' WHEN mod(x / 100, 100) < 97 THEN 'failed'
      ELSE 'expired' END AS state,
    make_interval(secs => 0.6 + mod(x / 10000, 1000) / 250.0
      + CASE WHEN mod(x, 100) < 85 THEN 0 ELSE 4 END) AS taken,
    mod(x / 100, 100) < 93 AND mod(x / 10000000, 100) < 84 AS is_right,
    %(phone_prefix)s::text || lpad(mod(x / 1000000000, %(phones)s)::text, %(phone_digits)s, '0')
      AS whole_phone
  FROM placed)
SELECT at, kind, channel, first_channel, state, taken, has_other_link,
  kind = 'code' AND is_right AS is_verified,
  CASE WHEN kind = 'link' THEN 'link' WHEN has_link THEN 'code_with_link' ELSE 'code' END
    AS content,
  CASE WHEN at < %(anonymised_before)s THEN left(whole_phone, 5) || '*' ELSE whole_phone END
    AS phone,
  {_PRICE.format(channel="channel")} AS price,
  {_PRICE.format(channel="first_channel")} AS first_price,
  CASE state WHEN 'expired' THEN interval '600 seconds' ELSE taken END AS took,
  CASE WHEN state = 'delivered' THEN mod(z / 10000, 3) ELSE 0 END AS clicks,
  CASE WHEN has_link THEN {_id(13)} END AS link_id,
  {_id(1)} AS id, {_id(4)} AS code_id, {_id(7)} AS attempt_id, {_id(10)} AS first_attempt_id,
  {_id(16)} AS other_link_id, {_id(19)} AS event_id,
  'd' || substr(g, 2, 15) AS slug, 'd' || substr(g, 17, 15) AS other_slug,
  (%(company_ids)s::bigint[])[place] AS company_id, (%(key_ids)s::bigint[])[place] AS api_key_id,
  (%(endpoints)s::uuid[])[place] AS endpoint_id
FROM described ORDER BY at"""  # noqa: S608 - constants of this file

_TARGET = "'https://example.com/orders/' || substr(id::text, 1, 13)"
_PUBLIC_ID = "'msg_' || replace(id::text, '-', '')"
_EVENT_DATA = f"""jsonb_build_object('id', {_PUBLIC_ID}, 'kind', kind, 'phone', phone,
  'channel', channel, 'status', state, 'cost', price, 'test', false, 'created_at', at)"""
_IS_RAW = "at >= %(raw_since)s"  # younger than what is purged first


@dataclass(frozen=True, slots=True)
class Rows:
    """What one table gets: column → expression over `demo_message`."""

    table: str
    columns: Mapping[str, str]
    where: str = "TRUE"

    def insert_into(self, table: str) -> str:
        names, values = ", ".join(self.columns), ", ".join(self.columns.values())
        return f"INSERT INTO {table} ({names}) SELECT {values} FROM demo_message WHERE {self.where}"  # noqa: S608


VERIFICATIONS = Rows(
    "otp_verification",
    {
        "id": "code_id",
        "company_id": "company_id",
        "mode": "'live'",
        "phone": "phone",
        "purpose": "'demo'",
        "mac": "''::bytea",
        "key_id": "%(key)s::text",
        "length": "6",
        "attempts": "is_verified::int",
        "max_attempts": "5",
        "created_at": "at",
        "expires_at": "at + interval '300 seconds'",
        "judged_at": "CASE WHEN is_verified THEN at + taken * 3 END",
        "verified_at": "CASE WHEN is_verified THEN at + taken * 3 END",
        "superseded_at": "at + interval '300 seconds'",
        "settled_at": "CASE WHEN is_verified THEN at + taken * 3 END",
    },
    where="kind = 'code'",
)
MESSAGES = Rows(
    "channels_message",
    {
        "id": "id",
        "company_id": "company_id",
        "api_key_id": "api_key_id",
        "mode": "'live'",
        "kind": "kind",
        "content": "content",
        "channel": "channel",
        "chain": "'[]'",
        "phone": "phone",
        "subject_id": "CASE kind WHEN 'link' THEN link_id ELSE code_id END",
        "params": """jsonb_strip_nulls(jsonb_build_object('key', %(key)s::text, 'length',
            CASE kind WHEN 'code' THEN 6 END, 'text', CASE kind WHEN 'link' THEN '' END,
            'short_url', CASE WHEN link_id IS NOT NULL
              THEN %(short_url)s::text || '/' || slug END,
            'link', CASE kind WHEN 'code' THEN replace(link_id::text, '-', '') END))""",
        "locale": "'ru'",
        "request_id": "'req_' || left(replace(id::text, '-', ''), 12) || right(id::text, 10)",
        "state": "state",
        "is_undelivered": "state IN ('failed', 'expired')",
        "error": "CASE state WHEN 'failed' THEN 'recipient_unreachable' ELSE '' END",
        "tries": "CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END",
        "hold": "CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END",
        "price": "price",
        "segments": "1",
        "priority": "CASE kind WHEN 'code' THEN 0 ELSE 1 END",
        "created_at": "at",
        "due_at": "NULL",
        "useful_until": "at + interval '300 seconds'",
        "deadline": "at + interval '600 seconds'",
        "sent_at": "CASE WHEN state <> 'failed' THEN at + taken / 2 END",
        "delivered_at": "CASE WHEN state = 'delivered' THEN at + taken END",
        "finished_at": "at + took",
    },
)
_ATTEMPT = {
    "id": "attempt_id",
    "message_id": "id",
    "n": "CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END",
    "hold": "CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END",
    "price": "price",
    "channel": "channel",
    "provider": "'test_' || channel",
    "provider_id": "'past-' || attempt_id",
    "state": "state",
    "error_class": "CASE state WHEN 'failed' THEN 'unreachable' ELSE '' END",
    "error_code": "''",
    "started_at": "at + taken / 3",
    "accepted_at": "CASE WHEN state <> 'failed' THEN at + taken / 2 END",
    "finished_at": "at + took",
}
ATTEMPTS = Rows("channels_attempt", _ATTEMPT)
FIRST_ATTEMPTS = Rows(
    "channels_attempt",
    _ATTEMPT
    | {
        "id": "first_attempt_id",
        "n": "1",
        "hold": "1",
        "price": "first_price",
        "channel": "first_channel",
        "provider": "'test_' || first_channel",
        "provider_id": "NULL",
        "state": "'failed'",
        "error_class": "'unreachable'",
        "started_at": "at + taken / 10",
        "accepted_at": "NULL",
        "finished_at": "at + taken / 4",
    },
    where="first_channel IS NOT NULL",
)
FALLBACKS = Rows(
    "channels_fallbackevent",
    {"message_id": "id", "reason": "'refused'", "channel": "channel", "at": "at + taken / 4"},
    where="first_channel IS NOT NULL",
)
RECEIPTS = Rows(
    "channels_receipt",
    {
        "provider": "'test_' || channel",
        "digest": "sha256(convert_to(attempt_id::text, 'UTF8'))",
        "provider_id": "'past-' || attempt_id",
        "state": "'delivered'",
        "word": "'DELIVRD'",
        "error_code": "''",
        "error_detail": "''",
        "at": "at + took",
        "received_at": "at + took",
        "due_at": "NULL",
        "applied_at": "at + took",
        "attempt_id": "attempt_id",
        "raw": """convert_to(jsonb_build_object(
            'id', 'past-' || attempt_id, 'status', 'DELIVRD', 'at', at + took)::text, 'UTF8')""",
    },
    where=f"state = 'delivered' AND {_IS_RAW}",
)
_LINK = {
    "id": "link_id",
    "company_id": "company_id",
    "mode": "'live'",
    "slug": "slug",
    "key": "slug",
    "is_alias": "false",
    "url": _TARGET,
    "created_at": "at",
    "expires_at": "at + interval '30 days'",
    "message_id": "id",
    "clicked_at": "CASE WHEN clicks > 0 THEN at + taken * 5 END",
    "clicks": "clicks",
    "first_click_at": "CASE WHEN clicks > 0 THEN at + taken * 5 END",
    "last_click_at": "CASE WHEN clicks > 0 THEN at + taken * 5 END",
}
LINKS = Rows("links_link", _LINK, where="link_id IS NOT NULL")
OTHER_LINKS = Rows(  # shortened, and sent by other means
    "links_link",
    _LINK
    | {
        "id": "other_link_id",
        "slug": "other_slug",
        "key": "other_slug",
        "expires_at": "NULL",
        "message_id": "NULL",
        "clicked_at": "NULL",
    },
    where="has_other_link",
)
CLICK_DAYS = Rows(
    "links_clickday",
    {
        "link_id": "link_id",
        "day": "(at AT TIME ZONE %(time_zone)s::text)::date",
        "clicks": "clicks",
        "previews": "0",
        "scanners": "0",
    },
    where="link_id IS NOT NULL AND clicks > 0",
)
CLICKS = Rows(
    "links_click",
    {
        "link_id": "link_id",
        "at": "at + taken * 5",
        "kind": "'person'",
        "referrer": "''",
        "device": "'android'",
        "country": "'RU'",
    },
    where=f"link_id IS NOT NULL AND clicks > 0 AND {_IS_RAW}",
)
EVENTS = Rows(
    "accounts_event",
    {
        "id": "event_id",
        "company_id": "company_id",
        "mode": "'live'",
        "kind": "'message.' || state",
        "key": _PUBLIC_ID,
        "data": _EVENT_DATA,
        "at": "at + took",
        "created_at": "at + took",
    },
    where=f"endpoint_id IS NOT NULL AND {_IS_RAW}",
)
DELIVERIES = Rows(
    "accounts_delivery",
    {
        "id": "gen_random_uuid()",
        "event_id": "event_id",
        "endpoint_id": "endpoint_id",
        "state": "'delivered'",
        "tries": "1",
        "claims": "1",
        "due_at": "NULL",
        "round_at": "at + took",
        "created_at": "at + took",
        "finished_at": "at + took * 2",
    },
    where=f"endpoint_id IS NOT NULL AND {_IS_RAW}",
)
IDEMPOTENCY_KEYS = Rows(
    "accounts_idempotentrequest",
    {
        "company_id": "company_id",
        "mode": "'live'",
        "path": "CASE kind WHEN 'code' THEN 'otp/send' ELSE 'links/send' END",
        "key": "'demo-' || id",
        "request_hash": "sha256(convert_to(id::text, 'UTF8'))",
        "subject_id": "id",
        "status": "200",
        "body": """'{"success": true, "id": "' || id || '"}'""",
        "created_at": "at",
    },
    where="at >= now() - interval '1 day' AND endpoint_id IS NOT NULL",
)
ALL = (
    *(VERIFICATIONS, MESSAGES, FIRST_ATTEMPTS, ATTEMPTS, FALLBACKS, RECEIPTS),
    *(LINKS, OTHER_LINKS, CLICK_DAYS, CLICKS, EVENTS, DELIVERIES, IDEMPOTENCY_KEYS),
)

# Holds and what became of them; a fallback exchanges the first hold for a second one.
TRANSFERS = """
SELECT m.company_id, t.kind, t.amount, NULL AS key, m.id AS message_id, t.hold, t.proof, t.reason,
  m.at + t.since AS created_at
FROM demo_message m CROSS JOIN LATERAL (VALUES
  ('hold', COALESCE(first_price, price), 1, '', '', interval '0'),
  (CASE WHEN first_channel IS NOT NULL THEN 'release' END, first_price, 1, '', 'refused',
   taken / 4),
  (CASE WHEN first_channel IS NOT NULL THEN 'hold' END, price, 2, '', '', taken / 4),
  (CASE state WHEN 'delivered' THEN 'capture' ELSE 'release' END, price,
   CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END,
   CASE state WHEN 'delivered' THEN 'receipt' ELSE '' END,
   CASE state WHEN 'delivered' THEN '' ELSE state END, took))
  AS t(kind, amount, hold, proof, reason, since)
WHERE t.kind IS NOT NULL ORDER BY created_at, t.hold, t.kind DESC"""
