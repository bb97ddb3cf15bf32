"""Writes sends of codes by `otp/send/send.sql`: a single send, or a group of concurrent sends."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.keys.principal import Principal
from catalogue.ids import uuid7
from channels.accept import acceptance
from channels.accept.acceptance import PreparedSend
from channels.extensions import CUSTOM_CODE
from channels.recipients import blocked_phones
from channels.routing import scripted_numbers
from links import sql as links_sql
from links.make.new_link import NewLink, short_url
from otp import codes, sql
from otp.check import check
from otp.send.code_request import STORED_FIELDS, CodeSendRequest
from otp.send.code_text import CodeText
from otp.send.custom_code import CustomCodeSend
from otp.send.tried_channels import UntriedChannels
from storage.statements.group_commit import GroupCommit
from storage.statements.json_rows import array_text, by_number, bytea, dump_rows
from storage.statements.single_statement import fetch_rows


class CodeRow(NamedTuple):
    """A row of `otp/send/send.sql`; fields after `is_capped` have a meaning only if it was paid."""

    number: int  # position of the send in its group
    is_paid: bool
    is_blocked: bool
    is_capped: bool
    expires_in: float
    attempts_left: int
    verification_id: UUID  # id of the live code that a resend repeats
    short_url: str | None = None  # of its link; set by the send


@dataclass(frozen=True, slots=True)
class CodeWrite:
    """A send to write, with the columns of `requested`; `statement` is used if it runs alone."""

    statement: str
    params: Mapping[str, Any]


def alone(write: CodeWrite) -> CodeRow:
    return acceptance.first_row(
        sql.in_live_months(write.statement), {**write.params, "number": 0}, CodeRow
    )


# The same statement for all live sends.
_SHARED = {
    "key_ids",
    "resend_margin",
    "least_use",
    "max_attempts",
    "failed_hour",
    "failed_day",
    "time_zone",
}


def _write_together(writes: Sequence[CodeWrite]) -> list[CodeRow | None]:
    first = writes[0].params
    companies = {write.params["company_id"] for write in writes}
    of_one = len(companies) == 1
    statement = sql.SEND_OF_ONE_COMPANY if of_one else sql.SEND_OF_SEVERAL_COMPANIES
    code_rows = [_requested_row(number, write.params) for number, write in enumerate(writes)]
    params = {name: first[name] for name in _SHARED} | {
        "requested": dump_rows(_first_of_each(code_rows))
    }
    rows = fetch_rows(sql.in_live_months(statement), params, CodeRow)
    return by_number((row for row in rows if row.is_paid), len(writes))


def _first_of_each(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The writes that are the first for their code and for their Idempotency-Key."""
    codes: set[Any] = set()
    keys: set[Any] = set()
    first_rows = []
    for row in rows:
        code = (row["company_id"], row["phone"], row["purpose"])
        key = (row["company_id"], row["idem_key"] or row["number"])
        if code not in codes and key not in keys:
            first_rows.append(row)
        codes.add(code)
        keys.add(key)
    return first_rows


def _requested_row(number: int, params: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in params.items() if name not in _SHARED}
    values = {name: bytea(params[name]) for name in ("mac", "idem_hash") if params[name]}
    return row | values | {"number": number}


SENDS = GroupCommit(alone, _write_together)
OUR_CODE = {"custom_macs": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCodeSend(PreparedSend[CodeRow]):
    request: CodeSendRequest
    link: NewLink | None
    text: CodeText
    custom: CustomCodeSend | None
    untried: UntriedChannels | None
    # A parallel send inserted the verification, or took the slug, first.
    retried_on: Collection[str] = ("verification_one_live", "link_key_once")

    def write(self) -> CodeRow:
        """Writes the send alone or together with concurrent ones; each try has a new slug."""
        principal = self.message.sender.principal
        link = self.link
        statement = sql.send(
            is_test=principal.is_test,
            has_link=link is not None,
            link_dies=link is not None and link.dies_with_code,
            has_key=self.message.sender.idempotency_key is not None,
            has_custom_code=self.custom is not None,
        )
        link_row = link.row(principal) if link else {}
        url = short_url(link_row["slug"], link.host) if link else None
        write = CodeWrite(statement, self._params(link_row, url))
        if self.custom is not None:
            with transaction.atomic():
                self.custom.lock()
                row = alone(write)
        elif link is not None or self.request.is_new or principal.is_test:
            row = alone(write)
        else:
            row = SENDS.run(write)
        if not row.is_paid:
            raise self._refusal(row)
        if self.untried is not None:
            self.untried.check_sent(row.verification_id)
        return row._replace(short_url=url) if url else row

    def _refusal(self, row: CodeRow) -> Exception:
        if row.is_blocked:
            return blocked_phones.BlockedPhoneError()
        if row.is_capped:
            return check.refusal_by_guess_cap(self.message.sender.principal, self.request.phone)
        return acceptance.payment_refusal(self.message)

    def _params(self, link_row: Mapping[str, Any], url: str | None) -> dict[str, Any]:
        principal = self.message.sender.principal
        params = self.message.params() | _verification_params(principal, self.request)
        if self.link:
            params |= links_sql.params(link_row, self.link.lifetime)
        extras: dict[str, Any] = {name: getattr(self.request, name) for name in STORED_FIELDS}
        extras |= {
            "short_url": url,
            "texts": self.text.templates(self.message.plan),
            "link": link_row["id"].hex if link_row else None,
            "route": self.message.plan.route_of_its_channels,
            "sender": self.request.requester.stored,
            # The next channel, if requested, is one of them.
            "order": list(self.request.order.channels),
            CUSTOM_CODE: self.custom is not None,
        }
        given_values = {name: value for name, value in extras.items() if value}
        params["params"] = acceptance.text_settings(principal, self.request.locale) | given_values
        return params | (self.custom.params(self.message.id) if self.custom else OUR_CODE)


def _verification_params(principal: Principal, request: CodeSendRequest) -> dict[str, Any]:
    verification_id = uuid7()
    key_id = codes.current_key()
    length = request.code_length or principal.code_length
    code = request.custom_code or codes.derive(verification_id, key_id=key_id, length=length)
    expires_at_once = scripted_numbers.is_scripted(
        principal, request.phone, scripted_numbers.EXPIRED_CODE
    )
    return {
        "verification_id": verification_id,
        "purpose": request.purpose,
        "mac": codes.mac(
            key_id=key_id,
            code=code,
            **codes.code_identity(principal, request.phone, request.purpose),
        ),
        "key_id": key_id,
        # A live code is repeated if its key is one of these.
        "key_ids": array_text([] if request.is_new else codes.known_keys()),
        "length": length,
        "requested_length": request.code_length,
        "binding": request.binding,
        "max_attempts": settings.CODE_ATTEMPTS,
        "lifetime": 0 if expires_at_once else request.effective_lifetime,
        "least_use": settings.CODE_LIFETIME if expires_at_once else 0,
        "resend_margin": settings.RESEND_MARGIN,
        **check.cap_params(),
    }
