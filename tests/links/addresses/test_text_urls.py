"""URLs in a link's text: everything that a phone would make clickable is checked."""

import time

import pytest
from django.utils import translation

from accounts.models import Company
from catalogue.errors import DomainError, Error
from channels.models import Message
from links.addresses import text_urls
from links.models import BlockedHost
from tests.api.clients import Api, ClientOf

pytestmark = pytest.mark.django_db

TARGET = "https://shop.example.com/orders/7"
PHONE = "+79161234567"


def check(text: str, *allowed: str) -> None:
    text_urls.check(text, target=TARGET, allowed=allowed)


def reason_against(text: str, *allowed: str) -> str:
    with pytest.raises(DomainError) as refusal:
        check(text, *allowed)

    assert refusal.value.error is Error.URL_NOT_ALLOWED
    assert refusal.value.errors is not None
    assert list(refusal.value.errors) == ["text"]
    with translation.override("en"):
        return str(refusal.value.message)


@pytest.mark.parametrize(
    "text",
    [
        "Ваш заказ: :link",
        "Заказ №5 готов.Заберите до 22.11.2026, в 12.30",
        "v2.0 и Node.js, см. файл.pdf",
        "www.shop.example.com/returns и https://shop.example.com/x?y=1.",
        "help@shop.example.com",
        "г.Москва; Г.МОСКВА, ул.Москва",
        "👉shop.example.com❤ и ★shop.example.com",
        "Спасибо❤.Ждём вас 😊. Приходите🎉.",
        "Цена 1.990₽.Скидка 15.5%, с 9.00 до 21.30, 01.12.2026г.",
        "Обновите до 2.10.3-beta и 3.11.rc1",
        "И.И.Иванов, ООО «Ромашка», т.д. и т.п., р/с, т.е.вы",
        "Dr.Smith, e.g. at 9 a.m. or 5 p.m., No.5, U.S. only",
        "It costs $5.99 (€4.50), approx. 3.5x faster",
    ],
)
def test_text_without_a_foreign_address_is_accepted(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.com/x",
        "Вход: evil.com/login",
        "ev\u200bil.com",
        "evil。com",
        "evil[.]com",
        "t.me/evil_bot",
        "евил.онлайн/вход",
        "xn--e1afmkfd.xn--p1ai",
        "кремль.рф:8080/x",
        "mail@evil.com",
        "notshop.example.com",
        "shop.example.com.evil.ru",
        "README.md",
    ],
)
def test_other_site_is_refused(text: str) -> None:
    assert "Besides the short link" in reason_against(f"Здравствуйте! {text}")


@pytest.mark.parametrize(
    "text",
    [
        "i❤.ws",
        "💩.la",
        "evil❤.com/login",
        "evil\u2800.com",
        "a.❤.ws",
        "👉evil.com",
        "evil.com❤вход",
        "evil.com-вход",
        "я.Онлайн",
    ],
)
def test_symbols_and_abbreviations_do_not_hide_a_site(text: str) -> None:
    assert "The text has" in reason_against(f"Здравствуйте! {text}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("https://раураl.com/x", "look-alike"),
        ("аpple.com", "look-alike"),
        ("http://localhost:8000/x", "local address"),
        ("localhost/admin", "local address"),
        ("http://router.lan", "local address"),
        ("192.168.0.1", "IP address"),
        ("192.168.0.1❤вход", "IP address"),
        ("http://[::1]/x", "IP address"),
        ("bit.ly/abc", "already shortened"),
        ("hxxp://shop.example.com/x", "begins with http://"),
        ("tg://resolve?domain=x", "begins with http://"),
        ("https://shop.example.com@evil.com/", "user name or password"),
        ("http:\\\\evil.com", "backslash"),
        ("https://fraud.example.com/", "blocked"),
    ],
)
def test_forbidden_address_is_refused_with_the_reason(text: str, reason: str) -> None:
    BlockedHost.objects.create(host="fraud.example.com")

    assert reason in reason_against(f"Здравствуйте! {text}")


def test_only_listed_sites_are_accepted() -> None:
    listed = ("brand.com", "shop.example.com")

    check("https://help.brand.com/x и brand.com, shop.example.com", *listed)

    assert "not among the allowed sites" in reason_against("brand.ru", *listed)
    assert "look-alike" in reason_against("brаnd.com", *listed, "xn--brnd-43d.com")


def test_company_site_list_applies_to_the_text_of_a_send(api: Api, client_of: ClientOf) -> None:
    payload = {"phone": PHONE, "url": TARGET, "text": "Заходите на brand.com и сюда: :link"}

    refused = api.post("/links/send", payload)
    Company.objects.update(link_targets=["brand.com", "example.com"])
    taken = client_of(Company.objects.get(pk=api.company.pk)).post("/links/send", payload)

    assert (refused.status, refused.code) == (422, "url_not_allowed")
    assert "brand.com" in refused.body["errors"]["text"][0]
    assert taken.status == 200
    assert Message.objects.count() == 1


@pytest.mark.parametrize(
    "text", ["㌖" * 5000, "a" * 30_000, "❤" * 30_000, "a❤" * 15_000, "㏂" * 6000 + " a://" * 3000]
)
def test_any_text_is_read_in_linear_time(text: str) -> None:
    """One character becomes six letters: to try again at each took ten seconds for 5,000."""
    started = time.process_time()

    list(text_urls.addresses(text))

    assert time.process_time() - started < 0.5
