"""Twilio's reads of an account: its balance, its senders, the countries it may send to.

https://www.twilio.com/docs/usage/api and twilio/twilio-oai
"""

from collections.abc import Set

from tools.simulator.settings import Settings
from tools.simulator.vendor import Json


def account(sid: str, lacks: Set[str]) -> Json:
    kind = "Trial" if "trial" in lacks else "Full"
    return {"sid": sid, "friendly_name": "Simulator", "status": "active", "type": kind}


def balance(sid: str, lacks: Set[str]) -> Json:
    return {
        "account_sid": sid,
        "balance": "-0.05" if "money" in lacks else "96.42",
        "currency": "USD",
    }


def numbers(settings: Settings, lacks: Set[str], wanted: str) -> Json:
    ours = settings.twilio_from
    row = {
        "sid": "PN" + "0" * 32,
        "phone_number": ours,
        "friendly_name": ours,
        "capabilities": {"voice": True, "sms": True, "mms": False, "fax": False},
        "status": "in-use",
    }
    has_it = "sender" not in lacks and wanted in {"", ours} and ours.startswith("+")
    return {"incoming_phone_numbers": [row] if has_it else [], "page": 0, "page_size": 50}


def senders(kind: str, sid: str, lacks: Set[str]) -> Json:
    """Of a messaging service, which has one number unless it lacks any."""
    key = {"PhoneNumbers": "phone_numbers", "ShortCodes": "short_codes"}.get(kind, "alpha_senders")
    row = {"sid": "PN" + "0" * 32, "service_sid": sid, "phone_number": "+15005550006"}
    has_it = kind == "PhoneNumbers" and "sender" not in lacks
    return {key: [row] if has_it else [], "meta": {"page": 0, "page_size": 20, "key": key}}


def campaigns(service: str, lacks: Set[str]) -> Json:
    """https://www.twilio.com/docs/messaging/api/usapptoperson-resource"""
    is_failed = "campaign" in lacks
    row = {
        "sid": "QE" + "0" * 32,
        "messaging_service_sid": service,
        "us_app_to_person_usecase": "2FA",
        "campaign_status": "FAILED" if is_failed else "VERIFIED",
        "errors": [{"error_code": 30893, "description": "Message flow"}] if is_failed else [],
    }
    return {"compliance": [row], "meta": {"page": 0, "page_size": 20, "key": "compliance"}}


def permissions(countries: str, lacks: Set[str]) -> Json:
    wanted = [one for one in countries.split(",") if one]
    rows = [
        {
            "country_code": country,
            "type": "country",
            "enabled": not ("country" in lacks and n == 0),
            "prefix": "",
            "message": "",
        }
        for n, country in enumerate(wanted)
    ]
    return {"permissions": rows}
