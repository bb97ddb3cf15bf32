"""Messages in the language that a request, a policy or a company asks for."""

import pytest
from pytest_django import Settings

from accounts.keys import api_keys
from accounts.keys.api_keys import evict_keys
from accounts.models import Company
from catalogue.languages import message_languages
from channels.deliver import dispatcher
from channels.models import Message
from channels.providers.base import Outgoing
from tests.api.clients import Api
from tests.channels.accounts import set_account
from tests.channels.message_stages import claim, send
from tests.channels.web.policy import put
from tests.factories import CodeTextFactory

pytestmark = pytest.mark.django_db
URL = "https://example.com/"


def handed_over() -> Outgoing:
    """The one message that is due, as its provider gets it."""
    (claimed,) = claim()
    return dispatcher.outgoing(claimed)


def standard(code: str, outgoing: Outgoing) -> str:
    text: str = message_languages.texts(code)["code"]
    return text.format(code=outgoing.code, brand=outgoing.brand)


def speak(company: Company, language: str) -> None:
    Company.objects.filter(pk=company.pk).update(language=language)
    evict_keys(company)
    api_keys.clear_cache()


@pytest.mark.parametrize("code", sorted(message_languages.codes()))
def test_code_is_rendered_in_every_language(api: Api, code: str) -> None:
    response = api.post("/otp/send", {"phone": "+79161234567", "channel": "sms", "locale": code})

    outgoing = handed_over()
    assert (response.status, response.body["locale"]) == (200, code)
    assert (outgoing.locale, outgoing.text) == (code, standard(code, outgoing))
    assert Message.objects.get().segments == 1


@pytest.mark.parametrize(
    ("asked", "stored", "code"),
    [
        ("pt_BR", "pt-BR", "pt"),
        ("DE-at", "de-AT", "de"),
        ("kk-KZ", "kk-KZ", "kk"),
        ("ca", "ca", "es"),
        ("zh-Hant-TW", "zh-Hant-TW", "ru"),
        ("x-private", "x-private", "ru"),
    ],
)
def test_tag_is_stored_and_shown(api: Api, asked: str, stored: str, code: str) -> None:
    response = api.post("/otp/send", {"phone": "+79161234567", "channel": "sms", "locale": asked})

    outgoing = handed_over()
    message = Message.objects.get()
    assert (message.locale, response.body["locale"]) == (stored, stored)
    assert api.get(f"/messages/{message.public_id}").body["locale"] == stored
    assert outgoing.text == standard(code, outgoing)


def test_company_language_precedes_the_worldwide_one(api: Api) -> None:
    speak(api.company, "kk")
    send(api, channel="sms", locale="ja")
    speak(api.company, "de")  # the message was accepted before

    outgoing = handed_over()
    assert outgoing.text == standard("kk", outgoing)


def test_company_language_is_used_without_a_locale(api: Api) -> None:
    speak(api.company, "ar")
    response = api.post("/otp/send", {"phone": "+79161234567", "channel": "sms"})

    outgoing = handed_over()
    assert (response.body["locale"], outgoing.text) == ("ar", standard("ar", outgoing))


def test_policy_may_name_any_tag(api: Api) -> None:
    response = put(api, [{"country": "RU", "locale": "pt_br"}])
    assert response.body["rules"][0]["locale"] == "pt-BR"
    api_keys.clear_cache()

    send(api, channel="sms")

    assert Message.objects.get().locale == "pt-BR"
    assert api.get("/policy/preview", {"phone": "+79161234567"}).body["locale"] == "pt-BR"
    outgoing = handed_over()
    assert outgoing.text == standard("pt", outgoing)


def test_company_s_own_text_serves_every_tag_of_its_language(api: Api) -> None:
    CodeTextFactory.create(company=api.company, body="{code} — кодыңыз", purpose="", locale="kk")
    api_keys.clear_cache()

    send(api, channel="sms", locale="kk-Cyrl-KZ")

    assert handed_over().text.endswith(" — кодыңыз")


def test_link_is_sent_in_the_requested_language(api: Api) -> None:
    body = {"phone": "+79161234567", "url": URL, "channel": "sms", "locale": "tr-TR"}
    response = api.post("/links/send", body)

    assert response.body["locale"] == "tr-TR"
    assert handed_over().text == message_languages.texts("tr")["link"].replace(
        ":link", response.body["short_url"]
    )


@pytest.mark.parametrize(("locale", "code"), [("kk", "ru"), ("de", "ru"), ("en-GB", "en")])
def test_words_in_a_template_are_in_its_language(
    api: Api, settings: Settings, locale: str, code: str
) -> None:
    set_account(settings, "whatsapp_cloud", {"languages": {"ru": "ru", "en": "en_US"}})

    api.post("/links/send", {"phone": "+79161234567", "url": URL, "locale": locale})

    outgoing = handed_over()
    text = message_languages.texts(code)["link_beside_a_button"].format(brand=outgoing.brand)
    assert (outgoing.locale, outgoing.text) == (code, text)


MALFORMED = ("de-", "de DE", "a-DE", "de-419-DE", "", "русский", "x" * 36, 7)


@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_malformed_language_tag_sends_nothing(api: Api, path: str) -> None:
    for locale in MALFORMED:
        response = api.post(path, {"phone": "+79161234567", "url": URL, "locale": locale})
        assert (response.status, list(response.body["errors"])) == (422, ["locale"]), locale
    assert not Message.objects.exists()
