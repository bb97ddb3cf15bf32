"""GET and PUT /policy, and GET /policy/preview."""

from typing import Any

import pytest

from accounts.models import AuditEvent, Company, Mode
from catalogue.channels import BY_NAME
from channels.models import Message
from channels.routing.stored_rules import MAX_RULES
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.channels.web.policy import put
from tests.factories import CompanyFactory

PHONE = "+79161234567"
RULE = {
    "country": "RU",
    "purpose": None,
    "channels": ["telegram", "sms"],
    "patience": {"telegram": 20},
    "max_cost": None,
    "barred": ["whatsapp"],
    "locale": None,
    "smart": None,
}


def faults(response: ApiResponse) -> list[str]:
    assert (response.status, response.code) == (422, "invalid_input")
    result: list[str] = response.body["errors"]["rules"]
    return result


def test_rules_are_replaced_and_returned(api: Api) -> None:
    assert put(api, [{"country": "KZ", "channels": ["sms"]}]).status == 200

    response = put(api, [RULE, {"purpose": "login", "locale": "en"}])

    assert [rule["purpose"] for rule in response.body["rules"]] == ["login", None]
    assert response.body["rules"][1] == RULE
    assert api.get("/policy").body["rules"] == response.body["rules"]
    assert put(api, []).body["rules"] == []


def test_change_is_audited_once(api: Api) -> None:
    put(api, [RULE])
    put(api, [RULE])

    event = AuditEvent.objects.get(action="policy.changed")
    assert event.subject == "RU/*"


def test_other_companies_keep_their_rules(api: Api, client_of: ClientOf) -> None:
    other = client_of(CompanyFactory.create(status=Company.Status.APPROVED))

    put(api, [RULE])

    assert other.get("/policy").body["rules"] == []


def test_test_key_shares_the_rules_and_changes_none(api: Api, test_api: Api) -> None:
    put(api, [RULE])

    refused = put(test_api, [])

    assert (refused.status, refused.code) == (403, "forbidden")
    assert api.get("/policy").body["rules"] == test_api.get("/policy").body["rules"] == [RULE]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"country": "XX", "channels": ["sms"]}, "XX"),
        ({"country": "RU", "channels": ["pigeon"]}, "whatsapp"),
        ({"country": "RU", "channels": []}, "хотя бы один канал"),
        ({"country": "RU", "channels": ["sms"], "barred": ["sms"]}, "запрещён"),
        ({"barred": list(BY_NAME)}, "все каналы"),
        ({"patience": {"sms": 5}}, "10"),
        ({"max_cost": 0}, "токен"),
        ({"purpose": "x" * 65, "channels": ["sms"]}, "64"),
        ({"locale": "de-"}, "тег языка"),
        ({"country": "RU"}, "ничего"),
        ({"channel": ["sms"]}, "channel»"),
        ({"channels": "sms"}, "channels"),
        ({"channels": [1]}, "channels"),
        ({"patience": {"sms": "20"}}, "patience"),
        ({"channels": ["sms", "sms"]}, "один раз"),
        ({"max_cost": True}, "max_cost"),
        ("RU", "объект"),
    ],
)
def test_faulty_rule_is_named_and_nothing_is_saved(api: Api, rule: Any, text: str) -> None:
    put(api, [RULE])

    (fault,) = faults(put(api, [RULE | {"country": "KZ"}, rule]))

    assert fault.startswith("2: ")
    assert text in fault
    assert api.get("/policy").body["rules"] == [RULE]


def test_rules_for_the_same_are_refused(api: Api) -> None:
    (fault,) = faults(put(api, [RULE, RULE]))

    assert fault.startswith("2: ")


@pytest.mark.parametrize("rules", [None, {}, "RU", [RULE] * (MAX_RULES + 1)])
def test_rules_are_a_bounded_array(api: Api, rules: Any) -> None:
    assert faults(put(api, rules))


@pytest.mark.django_db(transaction=True)  # keys are read again after the commit
@pytest.mark.parametrize("mode", Mode.values)
def test_preview_shows_channels_and_rules_and_sends_nothing(
    mode: str, client_of: ClientOf, company: Company
) -> None:
    client = client_of(company, mode=mode)
    put(client_of(company), [RULE])

    response = client.get("/policy/preview", {"phone": "8 916 123-45-67"})

    price = {"telegram": 0, "sms": 0} if mode == "test" else {"telegram": 1, "sms": 16}
    assert response.body == {
        "success": True,
        "message": "Каналы для этого номера",
        "phone": PHONE,
        "country": "RU",
        "locale": "ru",
        "steps": [
            {"channel": "telegram", "cost": price["telegram"], "patience": 20, "available": True},
            {"channel": "sms", "cost": price["sms"], "patience": None, "available": True},
        ],
        "barred": ["whatsapp"],
        "rules": [{"country": "RU", "purpose": None}],
    }
    assert not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_preview_refuses_as_a_send_would(api: Api) -> None:
    put(api, [{"channels": ["sms"], "max_cost": 1}])

    assert api.get("/policy/preview", {"phone": "+12025550123"}).code == "country_not_allowed"
    assert api.get("/policy/preview", {"phone": PHONE}).code == "channel_unavailable"
    assert api.get("/policy/preview", {"phone": "12"}).code == "invalid_phone"
    assert list(api.get("/policy/preview").body["errors"]) == ["phone"]
    assert list(api.get("/policy/preview", {"phone": PHONE, "kind": "fax"}).body["errors"]) == [
        "kind"
    ]
