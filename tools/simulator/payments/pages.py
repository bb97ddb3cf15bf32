"""The payment page that a person presses, the list of payments, and a form for bank transfers."""

import html
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from string import Template

from aiohttp import web

from tools.simulator.pages.control_page import FORM_HEADERS
from tools.simulator.pages.local_only import LocalOnly
from tools.simulator.pages.page_texts import choose
from tools.simulator.payments.actions import ACTIONS, HOWS, ImpossibleError, Till
from tools.simulator.payments.book import OPEN, PAID, Operation, Payment
from tools.simulator.payments.page_texts import TEXTS
from tools.simulator.request_bodies import form

HERE = Path(__file__).parent
PAGE = Template((HERE / "templates" / "page.html").read_text(encoding="utf-8"))
SHOWN = 50
LEAVES = {"pay", "cancel"}  # after which the payer goes back to the shop
LONGEST_PURPOSE = 210


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
        return self._list(request, "")

    def _list(self, request: web.Request, notice: str) -> web.Response:
        words = _words(request)
        newest = [one for one, _ in zip(self._till.book.newest(), range(SHOWN), strict=False)]
        rows = "".join(
            f'<li><a href="/pay/{_safe(one.id)}">{_safe(one.title)}</a> '
            f"{_safe(one.amount)} {_safe(one.currency)} · {_safe(one.provider)} · "
            f"{words[f'state_{one.state}']}</li>"
            for one in newest
        )
        rows = f'<ul class="payments">{rows}</ul>' if rows else f"<p>{words['none']}</p>"
        body = Template((HERE / "templates" / "list.html").read_text(encoding="utf-8"))
        text = body.substitute(words, rows=rows, notice=notice)
        return _page(words | {"here": "/payments"}, words["payments"], text)

    async def transfer(self, request: web.Request) -> web.Response:
        given, words = await form(request), _words(request)
        try:
            amount = Decimal(given.get("amount", "").replace(" ", "").replace(",", "."))
        except InvalidOperation:
            amount = Decimal(0)
        if amount <= 0:
            return self._list(request, _alert(words["bad_amount"]))
        purpose = given.get("purpose", "")[:LONGEST_PURPOSE]
        inn, name = given.get("inn", "")[:12], given.get("name", "")[:160]
        self._till.transfer(Operation(f"{amount:.2f}", purpose, inn=inn, name=name))
        return self._list(request, _alert(words["transferred"]))

    async def show(self, request: web.Request) -> web.Response:
        payment = self._till.book.payments.get(request.match_info["id"])
        if payment is None:
            return web.Response(status=404, text=_words(request)["no_payment"])
        return self._payment(request, payment, "")

    async def press(self, request: web.Request) -> web.Response:
        payment = self._till.book.payments.get(request.match_info["id"])
        given, words = await form(request), _words(request)
        action, how = given.get("action", ""), given.get("how", "")
        if payment is None or action not in ACTIONS or how not in {"", *HOWS}:
            return web.Response(status=404, text=words["no_payment"])
        try:
            amount = given.get("amount", "").replace(",", ".")
            await self._till.act(payment, action, how=how, amount=amount)
        except (ImpossibleError, InvalidOperation):
            return self._payment(request, payment, _alert(words["impossible"]))
        return self._payment(request, payment, _alert(words["done"]), leaves=action in LEAVES)

    def _payment(
        self, request: web.Request, payment: Payment, notice: str, *, leaves: bool = False
    ) -> web.Response:
        words = _words(request)
        facts = {
            "notice": notice,
            "name": _safe(payment.title),
            "sum": f"{_safe(payment.amount)} {_safe(payment.currency)}",
            "state": words[f"state_{payment.state}"],
            "provider": _safe(payment.provider),
            "back": _back(payment, words),
            "forms": self._forms(payment, words),
        }
        body = Template((HERE / "templates" / "payment.html").read_text(encoding="utf-8"))
        # A policy of forms holds for where they are sent on as well: the browser leaves by itself.
        away = {"Refresh": f"1; url={payment.return_url}"} if leaves and _is_http(payment) else {}
        here = {"here": f"/pay/{_safe(payment.id)}"}
        return _page(words | here, words["payment"], body.substitute(words, **facts), away)

    def _forms(self, payment: Payment, words: Mapping[str, str]) -> str:
        if payment.state == PAID:
            disputes = self._till.providers[payment.provider].has_disputes
            wanted = "dispute_won" if payment.disputed else "dispute"
            more = _button(wanted, words) if disputes else ""
            left = f"{payment.left:.2f}"
            label = f'<label>{words["amount"]} <input name="amount" value="{left}"></label>'
            refund = _form(label + _button("refund", words)) if payment.left > 0 else ""
            return refund + _form(_button("notify", words)) + (_form(more) if more else "")
        hows = "".join(f'<option value="{how}">{words[f"how_{how}"]}</option>' for how in HOWS)
        select = f'<label>{words["how"]} <select name="how">{hows}</select></label>'
        cancel = _form(_button("cancel", words)) if payment.state == OPEN else ""
        return _form(select + _button("pay", words, is_primary=True)) + cancel


def _form(inner: str) -> str:
    return f'<form method="post">{inner}</form>'


def _button(action: str, words: Mapping[str, str], *, is_primary: bool = False) -> str:
    look = ' class="primary"' if is_primary else ""
    word = words[f"do_{action}"]
    return f'<button type="submit" name="action" value="{action}"{look}>{word}</button>'


def _back(payment: Payment, words: Mapping[str, str]) -> str:
    if not _is_http(payment):
        return ""
    return f'<p><a href="{_safe(payment.return_url)}">{words["back"]}</a></p>'


def _is_http(payment: Payment) -> bool:
    """And nothing in it that could begin another header."""
    url = payment.return_url
    return url.startswith(("http://", "https://")) and url.isprintable()


def _alert(text: str) -> str:
    return f'<p class="notice" role="status">{text}</p>'


def _words(request: web.Request) -> dict[str, str]:
    lang = choose(request.query.get("lang", ""), request.headers.get("Accept-Language", ""))
    return TEXTS[lang] | {"lang": lang}


def _page(
    words: Mapping[str, str], title: str, body: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    text = PAGE.substitute(words, title=title, body=body)
    shown = {**FORM_HEADERS, **(headers or {})}
    return web.Response(text=text, content_type="text/html", headers=shown)


def _safe(text: str) -> str:
    return html.escape(text, quote=True)
