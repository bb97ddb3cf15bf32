"""Makes every declared call so that it succeeds."""

from typing import Any

import orjson

from accounts.models import Scope
from api.calls import Call
from api_docs.calls import CALLS
from tests.api.clients import Api, ApiResponse

BY_NAME = {call.name: call for call in CALLS}
NEEDS_LIVE_KEY = {Scope.TOP_UP, Scope.POLICY}  # some calls of these scopes do
PHONE = "+79990000000"
URL = "https://shop.example/orders/1024"
BODIES: dict[str, dict[str, Any]] = {
    "sendCode": {"phone": PHONE, "link": URL},
    "shortenLink": {"url": URL},
    "sendLink": {"phone": PHONE, "url": URL, "channel": "sms"},
    "shortenLinks": {"links": [{"url": URL}, {"url": "http://10.0.0.1/"}]},
    "changeLink": {"expires_in": 3600, "enabled": True},
    "createTopUp": {"tokens": 1000, "gateway": "sandbox"},
    "createWebhook": {"url": "https://shop.example/kvitok"},
    "changeWebhook": {"description": "Склад", "enabled": False},
    "replacePolicy": {"rules": [{"country": "RU", "channels": ["telegram", "sms"]}]},
    "erasePerson": {"phone": PHONE},
}
PHONE_QUERY = f"?phone={PHONE.removeprefix('+')}"
QUERIES = {"exportPerson": PHONE_QUERY, "previewPolicy": PHONE_QUERY}
# What must have been called before, by how a path begins.
PREREQUISITES = {
    "/otp/{": "sendCode",
    "/links/{": "shortenLink",
    "/batches/{": "shortenLinks",
    "/messages/": "sendCode",
    "/test/": "sendCode",
    "/top-up/{": "createTopUp",
    "/webhooks/{": "createWebhook",
}


def path_of(api: Api, call: Call) -> str:
    """Returns the call's path, with the id of an existing object."""
    prerequisite = next(
        (name for path, name in PREREQUISITES.items() if call.path.startswith(path)), None
    )
    made = perform(api, BY_NAME[prerequisite]).body if prerequisite else {}
    path = call.path.replace("{phone}", PHONE)
    name = "verification" if call.path.startswith("/otp/{") else "id"
    return path.replace("{id}", made.get(name) or made.get("batch") or "")


def perform(api: Api, call: Call) -> ApiResponse:
    """Makes the call, after the calls that it depends on."""
    if call.name == "verifyCode":
        perform(api, BY_NAME["sendCode"])
        code = api.get("/test/messages", {"phone": PHONE}).body["data"][0]["code"]
        return api.post("/otp/verify", {"phone": PHONE, "code": code})
    if call.name == "reportEntered":
        sent = api.post("/otp/send", {"phone": PHONE, "code": "4821"})
        return api.post("/otp/feedback", {"id": sent.body["id"]})
    path = path_of(api, call)
    body = orjson.dumps(BODIES[call.name]) if call.name in BODIES else b""
    return api.call(call.method, path + QUERIES.get(call.name, ""), body)
