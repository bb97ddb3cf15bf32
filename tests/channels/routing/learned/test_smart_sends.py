"""Sends of a company that chose smart routing, planned from the number's past."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.keys import api_keys
from catalogue.channels import Channel
from channels.models import Message
from channels.routing import stored_rules
from channels.routing.learned import learned_router, phone_memories, smart_plan
from channels.routing.smart.reach import EXPIRY, PhoneMemory
from channels.routing.stored_rules import StoredRule
from channels.vendor_accounts import availability
from otp.models import GuardRestriction
from otp.protection import restrictions
from tests.api.clients import Api, ApiResponse
from tests.channels.web.policy import put
from tests.factories import MessageFactory
from tests.otp.protection.test_send_check import hold
from tests.plans import explain, nodes, reads
from tools.demo.months import create_earlier

pytestmark = pytest.mark.usefixtures("queued_at_once")
PHONE = "+79161234567"
ALL = ["whatsapp", "telegram", "sms"]


@pytest.fixture(autouse=True)
def _nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smart_plan, "is_held_out", lambda: False)
    monkeypatch.setattr(learned_router._exploration, "tokens_a_day", 0)


@pytest.fixture
def smart_api(api: Api) -> Api:
    choose(api, StoredRule(smart=True, channels=ALL))
    return api


def choose(api: Api, *rules: StoredRule) -> None:
    stored_rules.replace_rules(company=api.company, rules=rules, user=None)
    api_keys.clear_cache()


def reach(api: Api, phone: str = PHONE, channel: str = "telegram") -> None:
    """Records that the company itself has delivered to the phone."""
    MessageFactory.create(
        company=api.company, phone=phone, channel=channel, state="delivered", due_at=None
    )


def remember(phone: str = PHONE, **channels: str) -> None:
    """Records the channel as `proved`, `refused` or `barred` an hour ago."""
    memory = PhoneMemory()
    at = timezone.now().timestamp() - 3600
    for channel, what in channels.items():
        if what == "proved":
            memory.record_proof(channel, at)
        else:
            memory.record_refusal(channel, at, barred=what == "barred")
    phone_memories.save_many({phone: memory}, at)


def send(api: Api, phone: str = PHONE, **fields: object) -> ApiResponse:
    return api.post("/otp/send", {"phone": phone} | fields)


def planned_channels(message: Message) -> list[str]:
    return [message.channel, *(step["channel"] for step in message.chain)]


def test_channel_that_reached_the_number_comes_first(smart_api: Api) -> None:
    remember(telegram="proved")
    reach(smart_api)

    response = send(smart_api)

    message = Message.objects.get(state="queued")
    assert (response.body["channel"], response.body["cost"]) == ("telegram", 1)
    assert planned_channels(message)[0] == "telegram"
    assert planned_channels(message)[-1] == "sms"
    assert message.fallback_at is not None
    assert message.params["route"]["reason"] == "proved"
    assert message.params["route"]["plan"][0][0] == "telegram"


def test_message_waits_as_long_as_was_planned(smart_api: Api) -> None:
    remember(telegram="proved")

    send(smart_api)

    message = Message.objects.get()
    (_first, patience), *rest = message.params["route"]["plan"]
    assert message.fallback_at is not None
    waits = (message.fallback_at - message.created_at).total_seconds()
    assert waits == pytest.approx(patience, abs=0.5)
    assert [step["channel"] for step in message.chain] == [channel for channel, _patience in rest]


def test_refused_messengers_are_left_out(smart_api: Api) -> None:
    remember(telegram="refused", whatsapp="refused", sms="proved")

    send(smart_api)

    assert planned_channels(Message.objects.get()) == ["sms"]


def test_barred_sms_is_not_tried(smart_api: Api) -> None:
    remember(sms="barred", telegram="proved")

    send(smart_api)

    assert "sms" not in planned_channels(Message.objects.get())


def test_policy_limits_the_channels(api: Api) -> None:
    choose(api, StoredRule(smart=True, channels=["whatsapp", "sms"]))
    remember(telegram="proved", whatsapp="proved")

    send(api)

    assert "telegram" not in planned_channels(Message.objects.get())


def test_named_channel_is_obeyed(smart_api: Api) -> None:
    remember(telegram="proved")

    response = send(smart_api, channel="sms")

    message = Message.objects.get()
    assert (response.body["channel"], planned_channels(message)) == ("sms", ["sms"])
    assert "route" not in message.params


def test_company_that_chose_nothing_sees_no_change(api: Api) -> None:
    remember(telegram="proved")

    response = send(api)

    assert response.body["channel"] == "whatsapp"
    assert "route" not in Message.objects.get().params


def test_test_keys_and_links_are_not_routed_smartly(smart_api: Api, test_api: Api) -> None:
    choose(test_api, StoredRule(smart=True, channels=ALL))
    remember(telegram="proved")

    assert send(test_api).body["channel"] == "whatsapp"
    link = smart_api.post("/links/send", {"phone": PHONE, "url": "https://example.com/"})
    assert link.body["channel"] == "whatsapp"


def test_route_memory_applies_to_one_number(smart_api: Api) -> None:
    remember(telegram="proved")

    send(smart_api, "+79161234568")

    assert Message.objects.get().params["route"]["reason"] != "proved"


def test_held_out_code_follows_the_company_order(
    smart_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smart_plan, "is_held_out", lambda: True)
    remember(telegram="proved")

    response = send(smart_api)

    assert response.body["channel"] == "whatsapp"
    assert Message.objects.get().params["route"] == {"arm": "hold_out"}


def test_one_code_in_twenty_is_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    held = sum(smart_plan.is_held_out() for _draw in range(20_000))

    assert 850 < held < 1150


def test_preview_is_neither_held_out_nor_explores(
    smart_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smart_plan, "is_held_out", lambda: True)
    remember(telegram="proved")
    reach(smart_api)

    response = smart_api.get("/policy/preview", {"phone": PHONE})

    assert response.body["steps"][0]["channel"] == "telegram"


def test_rule_is_set_and_read_by_the_api(api: Api) -> None:
    response = put(
        api, [{"country": "RU", "smart": True, "channels": ALL}, {"smart": None, "locale": "en"}]
    )

    assert response.status == 200
    assert [rule["smart"] for rule in response.body["rules"]] == [None, True]
    assert put(api, [{"smart": "yes", "channels": ALL}]).status == 422
    assert put(api, [{"smart": True}]).status == 422


def test_reason_is_shown_as_text(smart_api: Api) -> None:
    remember(telegram="proved")
    reach(smart_api)
    sent = send(smart_api)

    route: dict[str, Any] = smart_api.get(f"/messages/{sent.body['id']}").body["route"]

    assert route["arm"] == "smart"
    assert route["reason"].startswith(
        "Сначала Telegram: дошло до этого номера 1 час назад; SMS через"
    )
    assert route["plan"][0]["channel"] == "telegram"
    assert {"channels", "tokens"} == set(route["alternatives"][0])


def test_reason_hides_deliveries_of_other_companies(smart_api: Api) -> None:
    unknown = smart_api.get("/policy/preview", {"phone": PHONE}).body["steps"]
    remember(telegram="proved", whatsapp="refused")

    known = smart_api.get("/policy/preview", {"phone": PHONE}).body["steps"]
    sent = send(smart_api)
    route = smart_api.get(f"/messages/{sent.body['id']}").body["route"]

    assert known == unknown
    assert Message.objects.get().params["route"]["proved_before"] is None
    assert "дошло" not in route["reason"]


@pytest.mark.parametrize("is_held_out", [True, False])
def test_guard_leaves_messengers_alone_in_both_arms(
    smart_api: Api, monkeypatch: pytest.MonkeyPatch, *, is_held_out: bool
) -> None:
    monkeypatch.setattr(smart_plan, "is_held_out", lambda: is_held_out)
    remember(telegram="refused", whatsapp="refused", sms="proved")
    restriction = hold(smart_api, GuardRestriction.Step.CHEAP_ONLY)

    send(smart_api)
    restrictions.add_stopped_counts()

    message = Message.objects.get()
    assert "sms" not in planned_channels(message)
    restriction.refresh_from_db()
    assert restriction.stopped == 1
    planned = message.params["route"].get("plan") or []
    assert {channel for channel, _patience in planned} <= set(planned_channels(message))


def test_plan_excludes_channels_over_rule_cost(api: Api) -> None:
    choose(api, StoredRule(smart=True, channels=ALL, max_cost=8))

    send(api)

    assert "sms" not in planned_channels(Message.objects.get())


def test_paused_channel_stays_a_fallback_and_is_not_first(
    smart_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(telegram="proved")
    own = availability.has_account
    paused = "sms"

    def has_account(channel: Channel, *args: Any) -> bool:
        return channel.name != paused and own(channel, *args)

    monkeypatch.setattr(availability, "has_account", has_account)
    send(smart_api)
    assert planned_channels(Message.objects.get())[-1] == "sms"

    paused = "telegram"
    remember("+79161234568", telegram="proved", whatsapp="refused")
    send(smart_api, "+79161234568")
    assert Message.objects.get(phone="+79161234568").channel == "sms"


def test_fault_of_planning_stops_no_code(smart_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_named: object) -> None:
        raise KeyError

    monkeypatch.setattr(learned_router, "router", fail)

    assert send(smart_api).body["channel"] == "whatsapp"


def test_months_before_a_phone_is_forgotten_are_not_read(smart_api: Api) -> None:
    now = timezone.now()
    create_earlier((now - timedelta(days=300)).date())
    reach(smart_api)

    with reads() as statements:
        assert smart_plan._has_reached(smart_api.company.pk, PHONE)

    (statement,) = statements
    tables = {str(node.get("Relation Name", "")) for node in nodes(explain(statement))}
    months = {name[-7:] for name in tables if name.startswith("channels_message_2")}
    assert min(months) == f"{now - timedelta(seconds=EXPIRY):%Y_%m}"
