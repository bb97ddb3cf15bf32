"""Exports the data about one person (GDPR art. 15 and 20, 152-ФЗ art. 14), as JSON."""

import re
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection, transaction
from django.utils import timezone

from accounts.audit import record
from accounts.models import Company, User
from catalogue.ids import public_id_sql
from channels.history.redaction import redact
from channels.phone_numbers import spellings
from persons import sql
from persons.person import Person, find_rows_and_links, lift_timeout
from storage.heavy_work import HeavyWork


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one table: every column except hidden and internal ones."""

    rows: str  # FROM and WHERE, with the table as `t`
    id_prefix: str = ""  # of the API's ids
    hidden: tuple[str, ...] = ()  # columns that say nothing about the person
    internal: tuple[str, ...] = ()  # columns between the service and its vendors


CLICKS_OF_LINK = 1000
# Statements of exports and erasures have no timeout, and take seconds each for a large company.
PERSON_SEARCHES = HeavyWork("persons looked for", limit=1)

SECTIONS = {
    "messages": Section(
        "channels_message stored WHERE id = ANY(%(messages)s) ORDER BY created_at",
        "msg",
        ("api_key_id", "due_at", "priority"),
    ),
    "attempts": Section(
        "channels_attempt stored WHERE id = ANY(%(attempts)s) ORDER BY started_at",
        "",
        ("lease_until", "poll_at", "polls"),
        ("provider_id", "error_detail"),
    ),
    "receipts": Section(
        "channels_receipt stored WHERE attempt_id = ANY(%(attempts)s) ORDER BY received_at",
        "",
        ("digest", "due_at"),
        ("provider_id", "alternatives", "ref", "raw", "error_detail"),
    ),
    "sms_parts": Section(
        "channels_part stored WHERE attempt_id = ANY(%(attempts)s) ORDER BY id",
        "",
        (),
        ("provider_id",),
    ),
    "fallback_events": Section(
        "channels_fallbackevent stored WHERE message_id = ANY(%(messages)s) ORDER BY at"
    ),
    "verifications": Section(
        "otp_verification stored WHERE id = ANY(%(verifications)s) ORDER BY created_at",
        "otp",
        ("mac", "key_id"),
    ),
    "links": Section(
        "links_link stored WHERE id = ANY(%(links)s) ORDER BY created_at",
        "lnk",
        ("key", "reuse_key"),
    ),
    # The first clicks of each link: the person's are among them, and anybody can make millions.
    "clicks": Section(
        "unnest(%(links)s::uuid[]) AS own(id) CROSS JOIN LATERAL ("
        "SELECT * FROM links_click WHERE link_id = own.id ORDER BY at"
        " LIMIT %(clicks_of_link)s) AS stored ORDER BY stored.at"
    ),
    "link_reports": Section(
        "links_report stored WHERE link_id = ANY(%(links)s) ORDER BY reported_at"
    ),
    "events": Section(
        "webhooks_event stored WHERE id = ANY(%(events)s) ORDER BY at", "evt", ("key",)
    ),
    "webhook_deliveries": Section(
        "webhooks_delivery stored WHERE event_id = ANY(%(events)s) ORDER BY created_at",
        "dlv",
        ("due_at", "claims", "priority"),
    ),
    "webhook_answers": Section(
        "webhooks_deliveryattempt stored WHERE delivery_id IN (SELECT id FROM webhooks_delivery"
        " WHERE event_id = ANY(%(events)s)) ORDER BY started_at",
        "",
        ("headers",),
    ),
    "idempotent_requests": Section(
        "api_idempotentrequest stored WHERE position(%(phone)s IN body) > 0"
        " AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)"
        " AND (%(mode)s = '' OR mode = %(mode)s) ORDER BY created_at",
        "",
        ("request_hash",),
    ),
}
# Data of the service itself, for all companies.
SECTIONS_EVERYWHERE = {
    "blocked_phones": Section("channels_blockedphone stored WHERE phone = %(phone)s"),
    "bot_contacts": Section("channels_contact stored WHERE phone = %(phone)s"),
    "routing_memory": Section(
        "channels_rememberedphone stored WHERE phone_hash = ANY(%(phone_hashes)s)",
        "",
        ("phone_hash", "key_id"),
    ),
    "vendor_user_ids": Section(
        "channels_knownrecipient stored WHERE attempt_id = ANY(%(attempts)s) ORDER BY id"
    ),
    "alerts": Section(
        "channels_provideralert stored WHERE position(%(digits)s IN detail) > 0 OR detail IN ("
        "SELECT user_id FROM channels_knownrecipient WHERE attempt_id = ANY(%(attempts)s))"
    ),
    "unmatched_receipts": Section(
        "channels_receipt stored WHERE attempt_id IS NULL"
        " AND (phone = %(phone)s OR position(%(digits)s::bytea IN raw) > 0)",
        "",
        ("digest", "due_at"),
    ),
}

_LONG_NUMBER = re.compile(r"\d{9,15}")


@transaction.atomic
def export(*, person: Person, user: User | None = None, ip: str | None = None) -> dict[str, Any]:
    """All rows by kind. Only the operator's export has data of vendors that companies never see."""
    sections = SECTIONS | (SECTIONS_EVERYWHERE if person.is_everywhere else {})
    with connection.cursor() as cursor:
        lift_timeout(cursor)
        params: dict[str, Any] = person.params | find_rows_and_links(cursor, person).params
        cursor.execute(sql.PERSON["event_ids"], params)
        params["events"] = [event_id for (event_id,) in cursor.fetchall()]
        params["clicks_of_link"] = CLICKS_OF_LINK
        data = {}
        for name, section in sections.items():
            cursor.execute(_statement(section, person), params)
            data[name] = [
                _redacted_row(orjson.loads(text), person) for (text,) in cursor.fetchall()
            ]
        cursor.execute(sql.PERSON["shared_calls"], params)
        shared = {receipt_id for (receipt_id,) in cursor.fetchall()}
    for receipt in data["receipts"]:
        if receipt["id"] in shared:
            receipt.pop("raw", None)
    company = None if person.company_id is None else Company.objects.get(pk=person.company_id)
    record("person.exported", person.anonymised, company=company, user=user, ip=ip)
    return {"phone": person.phone, "exported_at": timezone.now(), "data": data}


def _statement(section: Section, person: Person) -> str:
    left_out = section.hidden if person.is_everywhere else section.hidden + section.internal
    columns = "to_jsonb(stored)" + "".join(f" - '{name}'" for name in left_out)
    if section.id_prefix:
        public_id = public_id_sql(section.id_prefix, "stored.id")
        columns += f" || jsonb_build_object('id', {public_id})"
    return f"SELECT ({columns})::text FROM {section.rows}"  # noqa: S608


def _redacted_row(row: dict[str, Any], person: Person) -> dict[str, Any]:
    """The row with other people's numbers masked: a vendor's payload may contain some."""
    if raw := row.get("raw"):
        text = redact(bytes.fromhex(raw.removeprefix("\\x")))
        row["raw"] = _LONG_NUMBER.sub(lambda match: _own_or_masked(match[0], person), text)
    return row


def _own_or_masked(digits: str, person: Person) -> str:
    return digits if f"+{digits}" in spellings(person.phone) else "•••"
