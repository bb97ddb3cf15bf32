"""The payment page that a person presses, the list of payments, and a JSON API for tests."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from string import Template

from aiohttp import web

from tools.simulator.pages.control_page import FORM_HEADERS
from tools.simulator.pages.shared import LocalOnly, language_of, read_texts
from tools.simulator.payments.till import (
    ACTIONS,
    CALL_FAULTS,
    HOWS,
    OPEN,
    PAID,
    CallFault,
    ImpossibleError,
    Operation,
    Payment,
    Till,
)
from tools.simulator.request_bodies import form, json_body

HERE = Path(__file__).parent
TEXTS = read_texts(HERE / "texts.csv")
SHOWN = 50
LEAVES = {"pay", "cancel"}  # after which the payer goes back to the shop
LONGEST_PURPOSE = 210
OPERATION = {"amount", "purpose", "inn", "name", "number", "currency", "is_incoming"}


class PaymentApi:
    """Payments and what happens to them, transfers, faults of calls."""

    def __init__(self, till: Till) -> None:
        self._till = till

    def routes(self, guard: LocalOnly) -> list[web.RouteDef]:
        return [
            web.get("/payments.json", guard(self.payments)),
            web.post("/payments/{id}/actions", guard(self.act)),
            web.post("/transfers", guard(self.transfer)),
            web.post("/payment-faults", guard(self.add_fault)),
            web.delete("/payment-faults", guard(self.clear_faults)),
        ]

    async def payments(self, _request: web.Request) -> web.Response:
        return web.json_response([asdict(row) for row in self._till.book.newest()])

    async def act(self, request: web.Request) -> web.Response:
        payment = self._till.book.payments.get(request.match_info["id"])
        body = await json_body(request)
        action, how = body.get("action"), body.get("how", "")
        if payment is None:
            return _error("no such payment", 404)
        if action not in ACTIONS or how not in {"", *HOWS}:
            return _error(f"action: {', '.join(ACTIONS)}; how: {', '.join(HOWS)}")
        try:
            amount, delay = str(body.get("amount", "")), float(body.get("delay", 0))
            await self._till.act(payment, action, how=how, amount=amount, delay=delay)
        except (ImpossibleError, ValueError, TypeError, InvalidOperation) as error:
            return _error(str(error))
        return web.json_response(asdict(payment))

    async def transfer(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        try:
            operation = Operation(**{name: body[name] for name in OPERATION & body.keys()})
            if Decimal(operation.amount) <= 0:
                return _error("amount: more than 0")
        except (TypeError, InvalidOperation) as error:
            return _error(str(error))
        self._till.transfer(operation)
        return web.json_response({"id": operation.id, "number": operation.number}, status=201)

    async def add_fault(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        provider, kind = str(body.get("provider")), str(body.get("kind"))
        if provider not in self._till.providers or kind not in CALL_FAULTS:
            names = f"provider: {', '.join(self._till.providers)}"
            return _error(f"{names}; kind: {', '.join(CALL_FAULTS)}")
        more = {name: int(body[name]) for name in ("times", "latency_ms") if name in body}
        self._till.providers[provider].faults.append(CallFault(provider, kind, **more))
        return web.json_response(body, status=201)

    async def clear_faults(self, _request: web.Request) -> web.Response:
        for provider in self._till.providers.values():
            provider.faults.clear()
        return web.json_response({})


class PaymentPages:
    """Plain forms and links; the pages need no script."""

    def __init__(self, till: Till) -> None:
        self._till = till

    def routes(self, guard: LocalOnly) -> list[web.RouteDef]:
        return [
            web.get("/payments", guard(self.list)),
            web.post("/payments/transfer", guard(self.transfer)),
            web.get("/pay/{id}", guard(self.show)),
            web.post("/pay/{id}", guard(self.press)),
        ]

    async def list(self, request: web.Request) -> web.Response:
        return self._list(_words(request), "")

    def _list(self, texts: Mapping[str, str], notice: str) -> web.Response:
        rows = "".join(
            f'<li><a href="/pay/{html.escape(row.id)}">{html.escape(row.title)}</a> '
            f"{html.escape(f'{row.amount} {row.currency} · {row.provider}')} · "
            f"{texts[f'state_{row.state}']}</li>"
            for row in islice(self._till.book.newest(), SHOWN)
        )
        rows = f'<ul class="payments">{rows}</ul>' if rows else f"<p>{texts['none']}</p>"
        return _page(
            {**texts, "here": "/payments"},
            texts["payments"],
            "list.html",
            {"rows": rows, "notice": notice},
        )

    async def transfer(self, request: web.Request) -> web.Response:
        given, texts = await form(request), _words(request)
        try:
            amount = Decimal(given.get("amount", "").replace(" ", "").replace(",", "."))
        except InvalidOperation:
            amount = Decimal(0)
        if amount <= 0:
            return self._list(texts, _alert(texts["bad_amount"]))
        purpose = given.get("purpose", "")[:LONGEST_PURPOSE]
        inn, name = given.get("inn", "")[:12], given.get("name", "")[:160]
        self._till.transfer(Operation(f"{amount:.2f}", purpose, inn=inn, name=name))
        return self._list(texts, _alert(texts["transferred"]))

    async def show(self, request: web.Request) -> web.Response:
        texts, payment = _words(request), self._till.book.payments.get(request.match_info["id"])
        if payment is None:
            return web.Response(status=404, text=texts["no_payment"])
        return self._payment(texts, payment, "")

    async def press(self, request: web.Request) -> web.Response:
        payment = self._till.book.payments.get(request.match_info["id"])
        given, texts = await form(request), _words(request)
        action, how = given.get("action", ""), given.get("how", "")
        if payment is None or action not in ACTIONS or how not in {"", *HOWS}:
            return web.Response(status=404, text=texts["no_payment"])
        try:
            amount = given.get("amount", "").replace(",", ".")
            await self._till.act(payment, action, how=how, amount=amount)
        except (ImpossibleError, InvalidOperation):
            return self._payment(texts, payment, _alert(texts["impossible"]))
        return self._payment(texts, payment, _alert(texts["done"]), leaves=action in LEAVES)

    def _payment(
        self, texts: Mapping[str, str], payment: Payment, notice: str, *, leaves: bool = False
    ) -> web.Response:
        url = payment.return_url
        # Only what a browser opens, and nothing in it that could begin another header.
        is_http = url.startswith(("http://", "https://")) and url.isprintable()
        back = f'<p><a href="{html.escape(url)}">{texts["back"]}</a></p>'
        facts = {
            "notice": notice,
            "name": html.escape(payment.title),
            "sum": html.escape(f"{payment.amount} {payment.currency}"),
            "state": texts[f"state_{payment.state}"],
            "provider": html.escape(payment.provider),
            "back": back if is_http else "",
            "forms": "".join(
                f'<form method="post">{form}</form>' for form in self._forms(payment, texts)
            ),
        }
        # A policy of forms holds for where they are sent on as well: the browser leaves by itself.
        away = {"Refresh": f"1; url={url}"} if leaves and is_http else {}
        texts = {**texts, "here": f"/pay/{html.escape(payment.id)}"}
        return _page(texts, texts["payment"], "payment.html", facts, away)

    def _forms(self, payment: Payment, texts: Mapping[str, str]) -> Sequence[str]:
        def button(action: str, look: str = "") -> str:
            word = texts[f"do_{action}"]
            return f'<button type="submit" name="action" value="{action}"{look}>{word}</button>'

        if payment.state == PAID:
            left = f'<input name="amount" value="{payment.left:.2f}">'
            label = f"<label>{texts['amount']} {left}</label>"
            forms = [label + button("refund")] if payment.left > 0 else []
            forms.append(button("notify"))
            if self._till.providers[payment.provider].has_disputes:
                forms.append(button("dispute_won" if payment.disputed else "dispute"))
            return forms
        hows = "".join(f'<option value="{how}">{texts[f"how_{how}"]}</option>' for how in HOWS)
        select = f'<label>{texts["how"]} <select name="how">{hows}</select></label>'
        cancel = [button("cancel")] if payment.state == OPEN else []
        return [select + button("pay", ' class="primary"'), *cancel]


def _alert(text: str) -> str:
    return f'<p class="notice" role="status">{text}</p>'


def _words(request: web.Request) -> Mapping[str, str]:
    lang = language_of(request)
    return {**TEXTS[lang], "lang": lang}


def _page(
    texts: Mapping[str, str],
    title: str,
    template: str,
    facts: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    body, page = (
        Template((HERE / "templates" / name).read_text(encoding="utf-8"))
        for name in (template, "page.html")
    )
    text = page.substitute(texts, title=title, body=body.substitute(texts, **facts))
    shown = {**FORM_HEADERS, **(headers or {})}
    return web.Response(text=text, content_type="text/html", headers=shown)


def _error(text: str, status: int = 422) -> web.Response:
    return web.json_response({"error": text}, status=status)
