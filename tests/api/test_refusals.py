"""Every row of the error table: status, code, the whole body, and no rows written."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.test import RequestFactory
from django.urls import resolve
from django.utils import timezone, translation
from pytest_django import Settings

from accounts.models import ApiKey, Company
from api.models import IdempotentRequest
from billing.wallet import ledger
from catalogue.errors import DomainError, Error
from channels.models import BlockedPhone
from tests.api.books import books
from tests.api.clients import Api, ApiResponse
from tests.channels.accounts import set_account
from tests.factories import LinkFactory, VerificationFactory

SLOW = 30  # seconds that a test may take on a busy machine
PHONE = "+79161234567"
PAST = timezone.now() - timedelta(minutes=1)
SEND = {"phone": PHONE}
VERIFY = {"phone": PHONE, "code": "123456"}
URL = "https://example.com/"
REQUIRED = ("Обязательное поле", "This field is required")
NOT_A_PHONE = (
    "Укажите номер с плюсом и кодом страны, например +79161234567",
    "Specify the number with a plus and its country code, for example +79161234567",
)


@dataclass(frozen=True)
class World:
    api: Api
    settings: Settings

    @property
    def company(self) -> Company:
        return self.api.company


Arrange = Callable[[World], Any]
Call = Callable[[Api], ApiResponse]


def nothing(_world: World) -> None:
    pass


@dataclass(frozen=True)
class Refusal:
    """`words` and `errors` are pairs, Russian and English; the error's own words by default."""

    error: Error
    call: Call
    arrange: Arrange = nothing
    words: tuple[str, str] | None = None
    errors: dict[str, tuple[str, str]] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def body(self, language: str, request_id: str) -> dict[str, Any]:
        index = ["ru", "en"].index(language)
        with translation.override(language):
            message = self.words[index] if self.words else str(self.error.message)
        body = {"success": False, "code": self.error.code, "message": message, **self.extra}
        if self.errors:
            body["errors"] = {name: [texts[index]] for name, texts in self.errors.items()}
        return body | {"request_id": request_id}


def post(path: str, payload: Any, **headers: str) -> Call:
    return lambda api: api.post(path, payload, **headers)


def key_is(**changes: Any) -> Arrange:
    return lambda world: ApiKey.objects.filter(company=world.company).update(**changes)


def company_is(**changes: Any) -> Arrange:
    return lambda world: Company.objects.filter(pk=world.company.pk).update(**changes)


def verification(**fields: Any) -> Arrange:
    return lambda world: VerificationFactory.create(company=world.company, phone=PHONE, **fields)


def used_up(world: World) -> None:
    for purpose in ("one", "two"):
        VerificationFactory.create(
            company=world.company,
            phone=PHONE,
            purpose=purpose,
            attempts=5,
            judged_at=timezone.now() - timedelta(seconds=1),
        )


def spent(world: World) -> None:
    ledger.withdraw(company=world.company, amount=1000, reason="test")


def blocked(_world: World) -> None:
    BlockedPhone.objects.create(phone=PHONE)


def unset_option(name: str, option: str) -> Arrange:
    def arrange(world: World) -> None:
        set_account(world.settings, name, {option: ""})

    return arrange


def sent_before(world: World) -> None:
    assert world.api.post("/otp/send", SEND | {"purpose": "other"}).status == 200


def links_sent_before(world: World) -> None:
    for _ in range(5):
        assert world.api.post("/links/send", SEND | {"url": URL}).status == 200


def asked_often(world: World) -> None:
    for _ in range(10):
        assert world.api.post("/otp/verify", VERIFY).code == "code_not_found"


def key_used(world: World) -> None:
    payload = {"url": URL}
    assert world.api.post("/links/shorten", payload, Idempotency_Key="k").status == 200


def key_running(world: World) -> None:
    key_used(world)
    IdempotentRequest.objects.update(status=None, body=None)


def alias_of_another(_world: World) -> None:
    LinkFactory.create(slug="Sale", key="sale", is_alias=True)


ANOTHER_KEY = post("/links/shorten", {"url": URL + "2"}, Idempotency_Key="k")
SAME_KEY = post("/links/shorten", {"url": URL}, Idempotency_Key="k")
LINK_TO_A_HOST = post("/links/shorten", {"url": "https://127.0.0.1/"})
IP_WORDS = (
    "Ссылки на IP-адрес не принимаются; укажите имя сайта",
    "A URL with an IP address is not accepted; use a host name",
)
TOO_LARGE = ("Тело запроса больше 64 КБ", "The request body is larger than 64 KB")
NOT_JSON = ("Тело запроса\u00a0— не JSON", "The request body is not valid JSON")
NOT_AN_OBJECT = ("Тело запроса должно быть объектом JSON", "The request body must be a JSON object")
NO_SCOPE = ("У ключа нет права на это действие", "This key lacks the required scope")
FOR_CLIENTS = (
    "Это ключ для клиента другого сервиса: он работает только по адресу для этого клиента",
    "This key is for another service's client and works only under that client's path",
)
WRONG_IP = ("Запросы с этого IP-адреса не разрешены", "Requests from this IP are not allowed")
SUSPENDED = ("Работа компании приостановлена", "The company is suspended")
NOT_APPROVED = (
    "Боевые ключи заработают после одобрения компании; тестовые работают уже сейчас",
    "Live keys work once the company is approved; test keys work now",
)
NO_COUNTRY = (
    "Отправка в эту страну (RU) не включена: добавьте её в кабинете, «Настройки» → "
    "«Разрешённые страны»",
    "Sending to this country (RU) is not switched on: add it in the cabinet, "
    "Settings → Allowed countries",
)
send = post("/otp/send", SEND)
verify = post("/otp/verify", VERIFY)
send_link = post("/links/send", SEND | {"url": URL})

REFUSALS = {
    "no tokens for a code": Refusal(
        Error.INSUFFICIENT_TOKENS,
        send,
        spent,
        words=("Недостаточно токенов", "Недостаточно токенов"),
        extra={"required": 1, "available": 0},
    ),
    "too few tokens for an SMS": Refusal(
        Error.INSUFFICIENT_TOKENS,
        post("/links/send", SEND | {"url": URL, "channel": "sms"}),
        lambda world: ledger.withdraw(company=world.company, amount=985, reason="test"),
        words=("Недостаточно токенов", "Недостаточно токенов"),
        extra={"required": 16, "available": 15},
    ),
    "scope": Refusal(Error.FORBIDDEN, send, key_is(scopes=["links"]), NO_SCOPE),
    "client's key": Refusal(
        Error.FORBIDDEN, send, key_is(purpose="login", scopes=["verify"]), FOR_CLIENTS
    ),
    "address": Refusal(Error.FORBIDDEN, send, key_is(allowed_ips=["10.0.0.0/8"]), WRONG_IP),
    "suspended": Refusal(Error.FORBIDDEN, send, company_is(status="suspended"), SUSPENDED),
    "not approved": Refusal(Error.FORBIDDEN, send, company_is(status="pending"), NOT_APPROVED),
    "no such call": Refusal(Error.NOT_FOUND, post("/opt/send", SEND)),
    "no such message": Refusal(Error.NOT_FOUND, lambda api: api.get("/messages/msg_1")),
    "method": Refusal(Error.METHOD_NOT_ALLOWED, lambda api: api.get("/otp/send")),
    "still running": Refusal(
        Error.REQUEST_IN_PROGRESS, SAME_KEY, key_running, extra={"retry_after": 1}
    ),
    "form": Refusal(
        Error.UNSUPPORTED_MEDIA_TYPE,
        lambda api: api.call("POST", "/otp/send", b"phone=1", "application/x-www-form-urlencoded"),
    ),
    "fields missing": Refusal(
        Error.INVALID_INPUT, post("/links/shorten", {}), errors={"url": REQUIRED}
    ),
    "malformed": Refusal(
        Error.INVALID_INPUT, lambda api: api.call("POST", "/otp/send", b"{"), words=NOT_JSON
    ),
    "array": Refusal(Error.INVALID_INPUT, post("/otp/send", [SEND]), words=NOT_AN_OBJECT),
    "too large": Refusal(
        Error.INVALID_INPUT, post("/otp/send", SEND | {"x": "x" * 65_536}), words=TOO_LARGE
    ),
    "phone": Refusal(
        Error.INVALID_PHONE, post("/otp/send", {"phone": "123456"}), errors={"phone": NOT_A_PHONE}
    ),
    "country": Refusal(
        Error.COUNTRY_NOT_ALLOWED,
        send,
        company_is(allowed_countries=["KZ"]),
        NO_COUNTRY,
        extra={"country": "RU"},
    ),
    "blocked for codes": Refusal(Error.RECIPIENT_UNREACHABLE, send, blocked),
    "blocked for links": Refusal(Error.RECIPIENT_UNREACHABLE, send_link, blocked),
    "channel": Refusal(
        Error.CHANNEL_UNAVAILABLE,
        post("/otp/send", SEND | {"channel": "sms"}),
        unset_option("twilio", "auth_token"),
    ),
    "code and link": Refusal(
        Error.LINK_NOT_SUPPORTED,
        post("/otp/send", SEND | {"channel": "whatsapp", "link": URL}),
        unset_option("whatsapp_cloud", "code_link_template"),
    ),
    "url": Refusal(Error.URL_NOT_ALLOWED, LINK_TO_A_HOST, words=IP_WORDS, errors={"url": IP_WORDS}),
    "alias": Refusal(
        Error.ALIAS_TAKEN, post("/links/shorten", {"url": URL, "alias": "sale"}), alias_of_another
    ),
    "alias in a message": Refusal(
        Error.ALIAS_TAKEN,
        post("/links/send", SEND | {"url": URL, "alias": "SALE"}),
        alias_of_another,
    ),
    "another request": Refusal(Error.IDEMPOTENCY_MISMATCH, ANOTHER_KEY, key_used),
    "wrong code": Refusal(Error.CODE_INVALID, verify, verification(), extra={"attempts_left": 4}),
    "expired code": Refusal(Error.CODE_EXPIRED, verify, verification(expires_at=PAST)),
    "used code": Refusal(Error.CODE_USED, verify, verification(verified_at=PAST)),
    "no code": Refusal(Error.CODE_NOT_FOUND, verify),
    "cool-down": Refusal(Error.RESEND_TOO_SOON, send, sent_before, extra={"retry_after": 60}),
    "link limit": Refusal(
        Error.SEND_LIMIT,
        send_link,
        links_sent_before,
        extra={"retry_after": 600, "limit": {"kind": "phone"}},
    ),
    "attempts used up": Refusal(
        Error.TOO_MANY_ATTEMPTS,
        verify,
        verification(attempts=5),
        words=(
            "Попытки закончились, этот код больше не подойдёт. Запросите новый код",
            "No attempts are left: this code no longer works. Ask for a new one",
        ),
        extra={"retry_after": 1},
    ),
    "failed too often": Refusal(
        Error.TOO_MANY_ATTEMPTS,
        send,
        used_up,
        words=(
            "Слишком много неверных кодов. Новый можно запросить через 60 мин",
            "Too many wrong codes. Ask for a new one in 60 min",
        ),
        extra={"retry_after": 3600},
    ),
    "asked too often": Refusal(
        Error.TOO_MANY_ATTEMPTS, verify, asked_often, extra={"retry_after": 600}
    ),
    "our own fault": Refusal(
        Error.INTERNAL_ERROR, send, lambda world: setattr(world.settings, "PRICES", {})
    ),
}


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("name", REFUSALS)
def test_refusal_has_a_reason_and_writes_nothing(
    api: Api, settings: Settings, name: str, language: str
) -> None:
    refusal = REFUSALS[name]
    refusal.arrange(World(api, settings))
    api.headers["Accept-Language"] = language
    before = books()

    response = refusal.call(api)

    assert response.headers.get("Retry-After") == _text(response.body.get("retry_after"))
    if "retry_after" in refusal.extra:  # it runs down while we ask
        passed = refusal.extra["retry_after"] - response.body["retry_after"]
        assert 0 <= passed <= SLOW
        response.body["retry_after"] += passed
    expected = refusal.body(language, response.headers["X-Request-Id"])
    assert (response.status, response.body) == (refusal.error.status, expected)
    assert response.headers["Content-Type"] == "application/json"
    assert books() == before


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


@pytest.mark.parametrize("is_known", [True, False])
def test_refusal_keeps_no_frames_of_its_callers(api: Api, *, is_known: bool) -> None:
    """Its traceback has the frames of all callers. Granian closes the connection of an unread body
    once the last of them is freed; a cycle would hold it open until the collector runs.
    """

    class Protocol:
        pass

    def serve() -> tuple[int, weakref.ref[Protocol]]:
        protocol = Protocol()
        key = api.headers["Authorization"] if is_known else "Bearer kv_live_unknown"
        request = RequestFactory().post(
            "/api/v1/otp/send", b"{", "application/json", headers={"Authorization": key}
        )
        view, args, kwargs = resolve("/api/v1/otp/send")
        return view(request, *args, **kwargs).status_code, weakref.ref(protocol)

    gc.disable()
    try:
        status, freed = serve()
        assert (status, freed()) == (422 if is_known else 401, None)
    finally:
        gc.enable()


def refusals_kept(call: Callable[[], Any]) -> int:
    """Returns the number of refusals that the call leaves to the garbage collector."""

    def count() -> int:
        return sum(issubclass(type(thing), DomainError) for thing in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = count()
        call()
        return count() - before
    finally:
        gc.enable()


def test_refusal_of_a_send_with_a_key_is_freed(test_api: Api) -> None:
    call = partial(test_api.post, "/otp/send", {"phone": "+79990000011"}, Idempotency_Key="a")

    assert refusals_kept(call) == 0
