"""A company exports and erases its own data about a person, in the mode of its key."""

import pytest

from api.models import IdempotentRequest
from channels.models import Message
from links.models import Link
from tests.api.clients import Api
from tests.factories import CompanyFactory, MessageFactory
from tests.persons.traces import PHONE, create_all_data

pytestmark = pytest.mark.django_db


def test_company_exports_its_own_data(api: Api) -> None:
    message = create_all_data(api.company)
    create_all_data(CompanyFactory.create())
    create_all_data(api.company, mode="test")

    response = api.get("/persons/export", {"phone": "8 (916) 123-45-67"})

    assert (response.status, response.body["phone"]) == (200, PHONE)
    assert len(response.body["data"]["messages"]) == 2
    assert response.body["data"]["messages"][-1]["id"] == message.public_id
    assert "bot_contacts" not in response.body["data"]


def test_company_erases_its_own_data(api: Api) -> None:
    create_all_data(api.company)
    others = create_all_data(CompanyFactory.create())

    response = api.post("/persons/erase", {"phone": PHONE})

    assert response.body["erased"] == {"messages": 2, "verifications": 1, "links": 1}
    assert list(Message.objects.filter(phone=PHONE).values_list("company", flat=True)) == [
        others.company_id,
        others.company_id,
    ]


def test_test_key_does_not_reach_live_data(api: Api, test_api: Api) -> None:
    create_all_data(api.company)

    assert test_api.post("/persons/erase", {"phone": PHONE}).body["erased"]["messages"] == 0
    assert test_api.get("/persons/export", {"phone": PHONE}).body["data"]["messages"] == []


def test_erasure_is_refused_while_a_message_is_open(api: Api) -> None:
    MessageFactory.create(company=api.company, phone=PHONE, state="sent")

    response = api.post("/persons/erase", {"phone": PHONE})

    assert (response.status, response.code) == (409, "person_busy")
    assert 500 < response.body["retry_after"] <= 600
    assert int(response.headers["Retry-After"]) == response.body["retry_after"]


def test_refusal_is_not_stored_with_the_idempotency_key(api: Api) -> None:
    message = MessageFactory.create(company=api.company, phone=PHONE, state="sent", price=0)
    key = {"Idempotency_Key": "once"}
    assert api.post("/persons/erase", {"phone": PHONE}, **key).status == 409
    Message.objects.filter(pk=message.pk).update(state="delivered")

    assert api.post("/persons/erase", {"phone": PHONE}, **key).status == 200
    assert api.post("/persons/erase", {"phone": PHONE}, **key).body["erased"]["messages"] == 1
    assert PHONE not in (IdempotentRequest.objects.get().body or "")


def test_phone_is_required_and_checked(api: Api) -> None:
    assert list(api.get("/persons/export").body["errors"]) == ["phone"]
    assert list(api.post("/persons/erase", {}).body["errors"]) == ["phone"]
    assert api.get("/persons/export", {"phone": "12"}).code == "invalid_phone"
    assert api.post("/persons/erase", {"phone": "12"}).code == "invalid_phone"


def test_link_of_an_erased_person_leads_nowhere_even_enabled(api: Api) -> None:
    message = create_all_data(api.company)
    api.post("/persons/erase", {"phone": PHONE})
    link = Link.objects.get(message_id=message.pk)

    response = api.call("PATCH", f"/links/{link.public_id}", b'{"enabled": true}')

    assert (response.status, response.body["url"]) == (200, "about:blank")
    assert api.get(f"/messages/{message.public_id}").body["phone"] == "+7916*"


@pytest.mark.parametrize("channel", ["sms", "whatsapp"])
def test_messages_of_an_erased_person_are_listed_without_text(test_api: Api, channel: str) -> None:
    create_all_data(test_api.company, mode="test")
    link = MessageFactory.create(
        company=test_api.company,
        mode="test",
        kind="link",
        state="delivered",
        phone=PHONE,
        channel=channel,
        params={"text": "https://shop.example/a", "brand": "", "short_url": "https://kv.example/a"},
    )

    assert test_api.post("/persons/erase", {"phone": PHONE}).status == 200

    response = test_api.get("/test/messages")
    assert response.status == 200
    assert {row["id"]: row["text"] for row in response.body["data"]}[link.public_id] is None
