"""The floors: the same single statement in a plain Django view.

No key, limits, log or middleware; the same server, pool and prepared statements, and an answer of
the same shape. The client sends what our service computes (ids of the company and the key, the MAC
of a code), so that only the statement is left.
"""

import os
from secrets import token_urlsafe
from typing import Any

import orjson
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

from api import idempotency
from billing.budgets import budgets
from billing.models import Budget
from catalogue.ids import public_id, uuid7
from links import sql as links_sql
from links.models import INSERTED_COLUMNS, Link
from otp import sql
from storage.statements.json_rows import array_text
from storage.statements.single_statement import fetch_rows

SEND = sql.in_live_months(sql.send(is_test=False, has_link=False, has_key=False))
CHECK = sql.in_live_months(sql.CHECK_CODE)
_MAC = bytes(32)
_NEW_LINK = {name: getattr(Link(), name) for name in INSERTED_COLUMNS}

# As after `seed.lift_budgets`: a fast machine sends more than usual budgets allow.
_LIFTED = dict.fromkeys((Budget.DAY, Budget.ANY, "RU"), (settings.MAX_BUDGET, None))
INSERT_MANY = """
INSERT INTO links_link (id, company_id, mode, slug, key, is_alias, url)
SELECT id, %s, 'live', slug, slug, false, url
FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS given(id, slug, url)
"""
LEADS_TO = "SELECT url FROM links_link WHERE key = %(key)s AND retired_at IS NULL"
_NO_STORE = {"Cache-Control": "private, no-store", "X-Robots-Tag": "noindex, nofollow"}
# As long as the API's own answers.
_INVALID = {"success": False, "code": "code_invalid", "message": "Неверный код"}
_VERIFIED = {"success": True, "message": "Номер подтверждён"}
_QUEUED = {"success": True, "message": "Код поставлен в очередь: WhatsApp", "channel": "whatsapp"}
_MADE = {"success": True, "message": "Создано ссылок: 1000"}
_SHORTENED = {"success": True, "message": "Ссылка сокращена"}


def send_params(company_id: int, key_id: int, phone: str) -> dict[str, Any]:
    """Parameters of `SEND`: a verification by WhatsApp, without computing its code."""
    message_id = uuid7()
    (failed_hour, _), (failed_day, _) = settings.WRONG_CODE_LIMITS
    return idempotency.NO_PARAMS | {
        "number": 0,
        "message_id": message_id,
        "company_id": company_id,
        "api_key_id": key_id,
        "mode": "live",
        "kind": "code",
        "content": "code",
        "channel": "whatsapp",
        "chain": "[]",
        "phone": phone,
        "locale": "ru",
        "request_id": "req_" + os.urandom(10).hex(),
        "reference": "",
        "price": settings.PRICES["whatsapp"],
        "segments": 1,
        "priority": 0,
        "patience": None,
        "hold_seconds": settings.HOLD_DEADLINE["code"],
        **budgets.params(_LIFTED, "RU"),
        "verification_id": uuid7(),
        "purpose": "verification",
        "mac": _MAC,
        "key_id": "1",
        "key_ids": array_text(["1"]),
        "length": 6,
        "custom_macs": None,
        "requested_length": None,
        "binding": None,
        "max_attempts": settings.CODE_ATTEMPTS,
        "lifetime": settings.CODE_LIFETIME,
        "least_use": 0,
        "resend_margin": settings.RESEND_MARGIN,
        "failed_hour": failed_hour,
        "failed_day": failed_day,
        "params": '{"brand": "Company"}',
    }


def link_params(company_id: int, url: str) -> dict[str, Any]:
    """Parameters of `links.sql.SHORTEN`."""
    slug = token_urlsafe(6)
    params = {"id": uuid7(), "company_id": company_id, "mode": "live", "slug": slug, "key": slug}
    return links_sql.params(_NEW_LINK | params | {"url": url}, lifetime=None)


def verify(request: HttpRequest) -> HttpResponse:
    fields = orjson.loads(request.body)
    (failed_hour, _), (failed_day, _) = settings.WRONG_CODE_LIMITS
    params = {
        "number": 0,
        **{name: fields[name] for name in ("company_id", "phone")},
        "mode": "live",
        "purpose": "verification",
        "verification_id": None,
        "binding": None,
        "macs": array_text([bytes.fromhex(fields["mac"])]),
        "failed_hour": failed_hour,
        "failed_day": failed_day,
    }
    row = _execute(CHECK, params)
    if row is None:
        return _answer({"success": False, "code": "code_not_found"}, 422)
    _number, verification_id, verified_at, attempts_left = row
    if verified_at is None:
        return _answer(_INVALID | {"attempts_left": attempts_left}, 422)
    facts = {"id": public_id("otp", verification_id), "phone": fields["phone"]}
    return _answer(_VERIFIED | facts | {"verified_at": verified_at})


def send(request: HttpRequest) -> HttpResponse:
    fields = orjson.loads(request.body)
    params = send_params(fields["company_id"], fields["key_id"], fields["phone"])
    row = _execute(SEND, params)
    if row is None or not row[1]:
        return _answer({"success": False, "code": "insufficient_tokens"}, 402)
    facts = {
        "id": public_id("msg", params["message_id"]),
        "phone": fields["phone"],
        "verification": public_id("otp", row[6]),
    }
    return _answer(_QUEUED | facts | {"expires_in": int(row[4]), "attempts_left": row[5]})


def shorten(request: HttpRequest) -> HttpResponse:
    fields = orjson.loads(request.body)
    params = link_params(fields["company_id"], fields["url"])
    row = _execute(links_sql.SHORTEN, params)
    return _answer(_SHORTENED | _shortened(params) | {"expires_at": row[0] if row else None})


def _shortened(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": public_id("lnk", params["link_id"]),
        "short_url": f"{settings.SHORT_URL}/{params['link_slug']}",
        "slug": params["link_slug"],
        "url": params["link_url"],
        "expires_at": None,
        "expires_in": None,
        "reused": False,
    }


def bulk(request: HttpRequest) -> HttpResponse:
    fields = orjson.loads(request.body)
    links = [link_params(fields["company_id"], row["url"]) for row in fields["links"]]
    columns = ([row[name] for row in links] for name in ("link_id", "link_slug", "link_url"))
    with connection.cursor() as cursor:
        cursor.execute(INSERT_MANY, [fields["company_id"], *columns])
    data = [{"success": True, **_shortened(row)} for row in links]
    return _answer(_MADE | {"batch": public_id("bat", uuid7()), "data": data})


def follow(_request: HttpRequest, slug: str) -> HttpResponse:
    """The redirect's only query, and its answer."""
    row = _execute(LEADS_TO, {"key": slug})
    response = HttpResponse(status=302 if row else 404, headers=_NO_STORE)
    if row:
        response["Location"] = row[0]
    return response


def livez(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


def _execute(statement: str, params: dict[str, Any]) -> tuple[Any, ...] | None:
    """The first row, fetched like the service's own statements."""
    return next(iter(fetch_rows(statement, params, lambda **row: tuple(row.values()))), None)


def _answer(body: dict[str, Any], status: int = 200) -> HttpResponse:
    text = orjson.dumps(body, option=orjson.OPT_UTC_Z)
    return HttpResponse(text, status=status, content_type="application/json")


_INVALID |= {"request_id": "req_" + 20 * "0"}
_QUEUED |= {"status": "queued", "locale": "ru", "cost": 1, "test": False, "resend_in": 60}
_VIEWS = {"verify": verify, "send": send, "shorten": shorten, "bulk": bulk, "livez": livez}
urlpatterns = [*(path(*view) for view in _VIEWS.items()), path("<str:slug>", follow)]
