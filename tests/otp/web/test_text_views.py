"""The cabinet's pages of texts."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from otp.models import Autofill, CodeText
from tests.factories import CodeTextFactory

FORM = {"body": "{code} — код", "locale": "ru", "channel": "sms", "purpose": "login"}


def body_of(client: Client, name: str, query: Any = None, **kwargs: int) -> str:
    return client.get(reverse(name, kwargs=kwargs), query).content.decode()


def test_text_is_added_changed_and_deleted(client: Client, owner: Member) -> None:
    added = client.post(reverse("text-create"), FORM)
    text = CodeText.objects.get()
    client.post(reverse("text-edit", args=[text.pk]), FORM | {"body": "Код: {code}\r\n\r\n"})
    text.refresh_from_db()
    client.post(reverse("text-delete", args=[text.pk]))

    assert added.headers["Location"] == reverse("text-list")
    assert (text.company, text.body, text.channel, text.purpose, text.locale) == (
        owner.company,
        "Код: {code}",
        "sms",
        "login",
        "ru",
    )
    assert not CodeText.objects.exists()
    assert owner.company.audit.count() == 3
    assert "Удалён текст" in body_of(client, "audit-list")


@pytest.mark.parametrize(
    ("wrong", "field", "text"),
    [
        ({"body": "нет"}, "body", "Поставьте {code}"),
        ({"body": "{code}" + " я" * 150}, "body", "частей SMS: 6"),
        ({"channel": "whatsapp"}, "channel", "whatsapp"),
    ],
    ids=str,
)
def test_wrong_code_text_is_refused_at_its_field(
    client: Client, owner: Member, wrong: dict[str, str], field: str, text: str
) -> None:
    response = client.post(reverse("text-create"), FORM | wrong)

    assert list(response.context["form"].errors) == [field]
    assert text in " ".join(response.context["form"].errors[field])
    assert not CodeText.objects.exists()


def test_preview_button_saves_nothing(client: Client, owner: Member) -> None:
    response = client.post(reverse("text-create"), FORM | {"preview": "1"})

    assert (
        '<p class="bubble bubble-text" lang="ru" dir="auto">123456 — код</p>'
        in response.content.decode()
    )
    assert not CodeText.objects.exists()


def test_preview_is_counted_and_priced(client: Client, owner: Member) -> None:
    body = body_of(client, "text-preview", {"body": "It’s {code}", "locale": "en"})

    samples = client.get(reverse("text-preview"), FORM | {"channel": ""}).context["samples"]
    assert [(sample.channel.name, sample.has_link) for sample in samples] == [
        ("max", False),
        ("max", True),
        ("sms", False),
        ("sms", True),
        ("telegram", False),
        ("telegram", True),
    ]
    assert "It’s 123456" in body
    assert "U+2019 RIGHT SINGLE QUOTATION MARK" in body
    assert "длина 11 из 70" in body
    assert "16 токенов, если доставлено" in body


def test_character_that_costs_a_segment_is_named(client: Client, owner: Member) -> None:
    long = "x" * 70

    costly = body_of(client, "text-preview", {"body": f"{{code}}’ {long}", "locale": "en"})
    latin = body_of(client, "text-preview", {"body": "{code} — kod", "locale": "ru"})
    russian = body_of(client, "text-preview", {"body": f"{{code}} — ж {long}", "locale": "ru"})

    assert "Без них текст займёт 1 SMS." in costly
    assert "U+2014 EM DASH" in latin
    assert "alert" not in russian


def test_markup_in_a_code_text_is_escaped(client: Client, owner: Member) -> None:
    CodeTextFactory.create(company=owner.company, body="<b>{code}</b> & “{brand}”")

    body = body_of(client, "text-list")

    assert "&lt;b&gt;<code>{code}</code>&lt;/b&gt; &amp; “<code>{brand}</code>”" in body


def test_autofill_is_set_and_removed(client: Client, owner: Member) -> None:
    path = reverse("autofill-edit")
    client.post(path, {"webotp_host": "Example.com", "app_hash": "FA+9qCX9VSu"})
    lines = Autofill.objects.get()
    shown = body_of(client, "text-list")
    client.post(path, {"webotp_host": "", "app_hash": ""})

    assert (lines.webotp_host, lines.app_hash) == ("example.com", "FA+9qCX9VSu")
    assert "FA+9qCX9VSu\n@example.com #123456</p>" in shown
    assert str(Autofill.objects.get()) == ""


def test_autofill_preview_shows_android_s_limit(client: Client, owner: Member) -> None:
    lines = {"webotp_host": "example.com", "app_hash": "FA+9qCX9VSu"}
    CodeTextFactory.create(company=owner.company, purpose="", body="{code} — код")

    samples = client.get(reverse("autofill-preview"), lines).context["samples"]

    too_long = [(sample.has_link, sample.is_too_long_for_app) for sample in samples]
    assert too_long == [(False, False), (True, True)]
    assert "SMS до 140 байт, а здесь" in body_of(client, "autofill-preview", lines)
    assert "Одиннадцать знаков" in body_of(client, "autofill-preview", {"app_hash": "x"})


def test_settings_show_the_text_that_is_sent(client: Client, owner: Member) -> None:
    CodeTextFactory.create(company=owner.company, purpose="", body="Своё: {code}, {brand}")

    page = body_of(client, "settings")
    typed = body_of(client, "settings-preview", {"brand": "Лавка", "code_length": "4"})

    assert "Своё: 123456, Ромашка" in page
    assert "Своё: 1234, Лавка" in typed
