"""Every column of a new link is stored by each statement that makes links."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import pytest

from accounts.models import Company
from catalogue.ids import uuid7
from channels.deliver.dispatcher import outgoing
from links.addresses.short_hosts import Host
from links.make.bulk import shorten_many
from links.make.message_text import beside_button
from links.make.new_link import NewLink
from links.make.shorten import shorten
from links.models import Link, ShortHost
from tests.api.clients import Api
from tests.channels.message_stages import claim

pytestmark = pytest.mark.django_db


class LinkOwner(NamedTuple):
    company_id: int
    mode: str = "live"


def alone(owner: LinkOwner, wanted: NewLink) -> Link:
    return shorten(owner=owner, link=wanted)


def in_a_batch(owner: LinkOwner, wanted: NewLink) -> Link:
    (made,) = shorten_many(owner=owner, new_links=[wanted], batch_id=uuid7())
    assert isinstance(made, Link)
    return made


@pytest.mark.parametrize("make", [alone, in_a_batch])
@pytest.mark.parametrize("way", [{"is_reused": True}, {"alias": "Spring", "is_once": True}])
def test_new_link_is_stored_as_returned(
    company: Company, make: Callable[[LinkOwner, NewLink], Link], way: dict[str, str | bool]
) -> None:
    host = ShortHost.objects.create(company=company, host="go.example")
    wanted = NewLink(
        url="https://example.com/",
        lifetime=600,
        host=Host(host.pk, host.host, company.pk),
        utm="utm_source=shop",
        expired_url="https://example.com/late",
        dies_with_code=True,
        **way,  # type: ignore[arg-type]  # names of either type
    )

    made = make(LinkOwner(company.pk), wanted)

    stored = Link.objects.get()
    names = {field.attname for field in Link._meta.concrete_fields} - {"created_at"}
    assert {name: getattr(made, name) for name in names} == {
        name: getattr(stored, name) for name in names
    }


# Each with another value. `reuse` is refused with the other fields, or they do not change the link.
IN_REUSE_KEY: dict[str, Any] = {
    "url": "https://shop.example/2",
    "lifetime": 60,
    "length": 9,
    "host": Host(7, "go.shop.example", 1),
    "utm": "utm_source=shop",
    "expired_url": "https://shop.example/late",
}
NOT_IN_REUSE_KEY = {"alias", "is_host_requested", "is_once", "dies_with_code", "is_reused"}


@pytest.mark.parametrize("name", IN_REUSE_KEY)
def test_links_differing_in_a_field_are_not_reused(name: str) -> None:
    link = NewLink(url="https://shop.example/1")
    other = replace(link, **{name: IN_REUSE_KEY[name]})

    assert other.reuse_key() != link.reuse_key()


def test_every_link_field_is_in_reuse_key_or_exempt() -> None:
    assert {field.name for field in fields(NewLink)} == IN_REUSE_KEY.keys() | NOT_IN_REUSE_KEY


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
