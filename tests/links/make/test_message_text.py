"""The text beside a link in a message, the same for every channel."""

import pytest

from channels.deliver.dispatcher import outgoing
from links.make.message_text import beside_button
from tests.api.clients import Api
from tests.channels.message_stages import claim

URL = "https://kvi.to/x7Kq2Mbd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Ссылка для вас: {URL}", "ссылка от Ромашка"),
        (URL, "ссылка от Ромашка"),
        (f"Ваш чек: {URL}", "Ваш чек"),
        (f"Ваш чек — {URL}.", "Ваш чек"),
        (f"Ваш чек ({URL})", "Ваш чек"),
        (f"{URL} — ваш чек", "ваш чек"),
        (f"Чек: {URL}, спасибо", f"Чек: {URL}, спасибо"),
        (f"Чек.\n{URL}", "Чек"),
        ("Без ссылки", "Без ссылки"),
    ],
)
def test_text_beside_a_button_omits_the_link(text: str, shown: str) -> None:
    assert beside_button(text, URL, locale="ru", brand="Ромашка") == shown


@pytest.mark.django_db
@pytest.mark.parametrize("channel", ["whatsapp", "telegram", "sms"])
def test_each_channel_shows_the_link_once(api: Api, channel: str) -> None:
    fields = {"phone": "+79161234567", "url": "https://shop.example/", "text": "Ваш чек: :link"}
    url = api.post("/links/send", fields | {"channel": channel}).body["short_url"]

    message = outgoing(claim()[0])

    assert message.short_url == url
    assert message.text == ("Ваш чек" if channel == "whatsapp" else f"Ваш чек: {url}")
