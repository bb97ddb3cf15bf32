"""The views of GET /balance, /seals and /documents, POST /top-up, GET /top-up/{id}."""

from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from accounts.models import Company
from api.base_view import ApiResponse, ApiView
from api.calls import Shape, body_of
from api.idempotency import IdempotencyKey
from api.idempotent_view import IdempotentView
from api.pagination import list_body
from api.request_fields import QueryFields, RequestFields, allowed_values
from billing.gateways import registry
from billing.gateways.base import Gateway
from billing.models import BillingProfile, Document, Order, Package, Seal
from billing.orders import orders, prices
from billing.orders.prices import Quote
from billing.wallet import ledger
from billing.web.calls import (
    CREATE_TOP_UP,
    DAY,
    DOCUMENT,
    GATEWAY,
    GET_BALANCE,
    GET_TOP_UP,
    LIST_DOCUMENTS,
    LIST_SEALS,
    LIST_TOP_UPS,
    OPTIONS_OF_TOP_UP,
    ORDER,
    PACKAGE,
    PACKAGE_TO_BUY,
    PERIOD,
    RETURN_URL,
    SEAL,
    STATE_TEXTS,
    TOKENS_TO_BUY,
)
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.ids import parse_id
from catalogue.texts import StrOrPromise
from processes.server.client_ip import client_ip

NOT_IN_TEST = _("Test keys neither spend nor buy tokens; use a live key")
ONE_OF_TWO = _("Specify tokens or package")
NOT_BOTH = _("Specify either tokens or package, not both")
NO_PACKAGE = _("No such package, see GET /top-up/options")
NOT_SOLD = _("This number of tokens is not sold; choose a package")
NO_GATEWAY = _("This payment method is not offered now, see GET /top-up/options")
NOT_A_URL = _("An http or https URL")


class Balance(ApiView):
    calls = (GET_BALANCE,)

    def get(self, request: HttpRequest) -> HttpResponse:
        available, held = ledger.balance(self.principal.company_id)
        return self.respond({"available": available, "held": held})


class Seals(ApiView):
    calls = (LIST_SEALS,)

    def get(self, request: HttpRequest) -> HttpResponse:
        params = QueryFields(request.GET)
        period = params.text(PERIOD)
        params.check()
        rows = Seal.objects.filter(company=self.principal.company_id).defer("parts")
        rows = rows if period == DAY else rows.last_of_months()
        return _list(self, request, rows, SEAL)


class Documents(ApiView):
    calls = (LIST_DOCUMENTS,)

    def get(self, request: HttpRequest) -> HttpResponse:
        return _list(
            self, request, Document.objects.for_company(self.principal.company_id), DOCUMENT
        )


def _list(view: ApiView, request: HttpRequest, rows: QuerySet[Any], shape: Shape) -> ApiResponse:
    query = request.GET.dict()
    company_id = view.principal.company_id
    return ApiResponse(view.success(list_body(rows, query, shape.body_of, company_id=company_id)))


class TopUpView(IdempotentView):
    def authenticate(self, request: HttpRequest) -> Principal:
        principal = super().authenticate(request)
        if principal.is_test:
            raise DomainError(Error.FORBIDDEN, message=NOT_IN_TEST)
        return principal

    def response_body(self, order: Order) -> dict[str, Any]:
        return self.success({"message": STATE_TEXTS[order.state], **body_of(order, ORDER)})


class TopUps(TopUpView):
    calls = (LIST_TOP_UPS, CREATE_TOP_UP)

    def get(self, request: HttpRequest) -> HttpResponse:
        rows = Order.objects.for_company(self.principal.company_id).select_related("package")
        return _list(self, request, rows, ORDER)

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        top_up = _parse_request(payload)
        idempotency_key = self.idempotency_key(request, payload)

        def effect() -> dict[str, Any]:
            quote = top_up.quote(_currency(self.principal.company_id))
            order = orders.place(
                company=Company.objects.get(pk=self.principal.company_id),
                quote=quote,
                gateway=top_up.select_gateway(quote.currency),
                api_key_id=self.principal.key_id,
                ip=client_ip(request.META),
                return_url=top_up.return_url,
                idempotency_key=idempotency_key,
            )
            return self.response_body(order)

        return self.once(idempotency_key, effect, partial(self.rebuilt, idempotency_key))

    def rebuilt(self, key: IdempotencyKey | None, order_id: UUID) -> dict[str, Any] | None:
        """The response of a call that died after the order's commit; opens its payment again."""
        order = Order.objects.select_related("package").filter(pk=order_id).first()
        return self.response_body(orders.open_payment(order, key)) if order else None


class TopUp(TopUpView):
    calls = (GET_TOP_UP,)

    def get(self, request: HttpRequest, public_id: str) -> HttpResponse:
        rows = Order.objects.for_company(self.principal.company_id).select_related("package")
        order_id = parse_id("top", public_id)
        order = rows.filter(pk=order_id).first() if order_id else None
        if order is None:
            raise DomainError(Error.NOT_FOUND)
        return ApiResponse(self.response_body(order))


class TopUpOptions(ApiView):
    """The tokens on offer and the payment methods; for any key, including test keys."""

    calls = (OPTIONS_OF_TOP_UP,)

    def get(self, request: HttpRequest) -> HttpResponse:
        currency = _currency(self.principal.company_id)
        options = {
            "packages": [body_of(package, PACKAGE) for package in Package.objects.on_sale()],
            "min_tokens": prices.min_tokens(currency),
            "max_tokens": settings.MAX_TOP_UP_TOKENS,
            "currency": currency,
            "gateways": [gateway.name for gateway in registry.available()],
        }
        return self.respond(options)


@dataclass(frozen=True, slots=True)
class TopUpRequest:
    """The request's well-formed fields; availability is checked inside the effect."""

    tokens: int | None
    package: str | None
    gateway: str | None
    return_url: str

    def quote(self, currency: str) -> Quote:
        if self.package is not None:
            quote = prices.quote_package(self.package)
        else:
            quote = prices.quote_tokens(self.tokens or 0, currency)
        if quote is None:
            errors = {"package": NO_PACKAGE} if self.package else _tokens_error(currency)
            raise invalid_input(**errors)
        return quote

    def select_gateway(self, currency: str) -> Gateway:
        """The requested gateway, else the first available one that takes the currency."""
        available = registry.available("" if self.gateway else currency)
        gateway = next((each for each in available if self.gateway in {None, each.name}), None)
        if gateway is None and available:
            raise invalid_input(gateway=NO_GATEWAY)
        if gateway is None:
            raise DomainError(Error.UNAVAILABLE, retry_after=60)
        return gateway


def _parse_request(payload: dict[str, Any]) -> TopUpRequest:
    fields = RequestFields(payload)
    top_up = TopUpRequest(
        tokens=fields.integer(TOKENS_TO_BUY),
        package=fields.text(PACKAGE_TO_BUY) or None,
        gateway=_gateway(fields),
        return_url=_return_url(fields),
    )
    if not fields.errors.keys() & {TOKENS_TO_BUY.name, PACKAGE_TO_BUY.name}:
        if top_up.tokens is not None and top_up.package is not None:
            fields.add_error(TOKENS_TO_BUY, NOT_BOTH)
        if top_up.tokens is None and top_up.package is None:
            fields.add_error(TOKENS_TO_BUY, ONE_OF_TWO)
    fields.check()
    return top_up


def _gateway(fields: RequestFields) -> str | None:
    gateway = fields.text(GATEWAY) or None
    if gateway is not None and gateway not in settings.PAYMENT_GATEWAYS:
        fields.add_error(GATEWAY, allowed_values(settings.PAYMENT_GATEWAYS))
    return gateway


def _currency(company_id: int) -> str:
    return prices.currency_of(BillingProfile.for_company(Company.objects.get(pk=company_id)))


def _tokens_error(currency: str) -> dict[str, StrOrPromise]:
    minimum, maximum = prices.min_tokens(currency), settings.MAX_TOP_UP_TOKENS
    if minimum is None:
        return {"tokens": NOT_SOLD}
    return {"tokens": format_lazy(_("Between {min} and {max}"), min=minimum, max=maximum)}


def _return_url(fields: RequestFields) -> str:
    text = fields.text(RETURN_URL) or ""
    try:
        parts = urlsplit(text)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_web = False
    if text and not is_web:
        fields.add_error(RETURN_URL, NOT_A_URL)
    return text
