"""Meta's alerts about the account, its number and its templates, in Meta's own bodies."""

from collections.abc import Mapping, Sequence

import orjson
import pytest

from channels.providers.inbound import AccountAlert, AlertKind
from tests.channels.providers.vendors import meta_call, payload, whatsapp

REFUSED, WARNING, TEMPLATE = AlertKind.REFUSED, AlertKind.WARNING, AlertKind.TEMPLATE
RESTRICTIONS = "RESTRICTED_BIZ_INITIATED_MESSAGING RESTRICTED_ADD_PHONE_NUMBER_ACTION"
NO_MORE = "Limits cannot be increased yet."


def read(file: str) -> Sequence[AccountAlert]:
    return (
        whatsapp()
        .parse_webhook(meta_call(payload("whatsapp_cloud", f"{file}_2026-11.json")))
        .alerts
    )


def alerts_of(field: str, value: Mapping[str, object]) -> Sequence[AccountAlert]:
    body = {"entry": [{"id": "102290129340398", "changes": [{"field": field, "value": value}]}]}
    return whatsapp().parse_webhook(meta_call(orjson.dumps(body))).alerts


@pytest.mark.parametrize(
    ("file", "alert"),
    [
        ("account_restricted", ("account_restriction", RESTRICTIONS, REFUSED)),
        ("account_violation", ("account_violation", "ADULT", WARNING)),
        ("account_disabled", ("disabled_update", "DISABLE", REFUSED)),
        ("account_deleted", ("account_deleted", "", REFUSED)),
        ("account_offboarded", ("account_offboarded", "", REFUSED)),
        ("account_review_rejected", ("review_rejected", "", WARNING)),
        ("account_alert", ("increased_capabilities_eligibility_deferred", NO_MORE, WARNING)),
        ("quality_flagged", ("quality_flagged", "TIER_2K", WARNING)),
        ("template_locked", ("template_locked", "short_link ru NONE", TEMPLATE)),
        ("template_paused", ("template_paused", "short_link ru NONE", TEMPLATE)),
        ("template_disabled", ("template_disabled", "short_link ru NONE", TEMPLATE)),
        ("template_rejected", ("template_rejected", "short_link ru INVALID_FORMAT", TEMPLATE)),
        ("template_limit_exceeded", ("template_limit_exceeded", "short_link ru NONE", TEMPLATE)),
        ("template_quality_red", ("template_quality_red", "short_link ru", TEMPLATE)),
        ("category_announced", ("template_category_soon", "short_link ru MARKETING", TEMPLATE)),
        ("category_changed", ("template_category", "short_link ru MARKETING", TEMPLATE)),
    ],
)  # fmt: skip
def test_account_event_becomes_an_alert(file: str, alert: tuple[str, str, AlertKind]) -> None:
    assert read(file) == [AccountAlert(*alert)]


@pytest.mark.parametrize("file", ["account_reinstated", "quality_upgraded", "template_approved"])
def test_good_news_is_no_alert(file: str) -> None:
    assert read(file) == []


@pytest.mark.parametrize(
    ("restrictions", "kind"),
    [
        (["RESTRICTED_BIZ_INITIATED_MESSAGING"], REFUSED),
        (["RESTRICTED_ADD_PHONE_NUMBER_ACTION"], WARNING),
        ([], WARNING),
    ],
)
def test_restriction_stops_sending_only_when_it_forbids_sending(
    restrictions: list[str], kind: AlertKind
) -> None:
    listed = [
        {"restriction_type": restriction, "expiration": 1641330498} for restriction in restrictions
    ]

    (alert,) = alerts_of(
        "account_update", {"event": "ACCOUNT_RESTRICTION", "restriction_info": listed}
    )

    assert alert.kind is kind


def test_scheduled_disabling_is_a_warning() -> None:
    value = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "SCHEDULE_FOR_DISABLE"}}

    assert [alert.kind for alert in alerts_of("account_update", value)] == [WARNING]


@pytest.mark.parametrize("event", ["DOWNGRADE", "RED", "flagged"])
def test_bad_quality_of_the_number_is_a_warning(event: str) -> None:
    alerts = alerts_of("phone_number_quality_update", {"event": event})

    assert [(alert.code, alert.kind) for alert in alerts] == [(f"quality_{event.lower()}", WARNING)]


def test_quality_may_come_as_a_rating() -> None:
    (alert,) = alerts_of("phone_number_quality_update", {"event": "", "quality_rating": "RED"})

    assert alert.code == "quality_red"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("account_update", {"event": "PARTNER_ADDED"}),
        ("account_update", {"event": ["ACCOUNT_DELETED"]}),
        ("account_update", {"event": "ACCOUNT_UNHEARD_OF"}),
        ("account_alerts", {"alert_info": {"alert_severity": "INFORMATIONAL"}}),
        ("account_alerts", {"alert_info": "CRITICAL"}),
        ("account_review_update", {"decision": "APPROVED"}),
        ("phone_number_quality_update", {"event": "UNFLAGGED"}),
        ("phone_number_quality_update", {}),
        ("message_template_quality_update", {"new_quality_score": "GREEN"}),
        ("template_category_update", {}),
        ("message_template_status_update", {"event": None}),
        ("a_field_of_tomorrow", {"event": "DISABLED_UPDATE"}),
    ],
)
def test_anything_else_is_no_alert(field: str, value: dict[str, object]) -> None:
    assert alerts_of(field, value) == []
