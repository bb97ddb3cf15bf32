"""Makes every declared call so that it succeeds."""

from typing import Any

import orjson

from accounts.models import Scope
from api.calls import Call
from api_docs.calls import CALLS
from tests.api.clients import Answer, Api

BY_NAME = {call.name: call for call in CALLS}
LIVE = {Scope.TOP_UP, Scope.POLICY}  # whose calls need a live key, some of them
PHONE = "+79990000000"
URL = "https://shop.example/orders/1024"
ASKED: dict[str, dict[str, Any]] = {
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
OF_PHONE = f"?phone={PHONE.removeprefix('+')}"
QUERIES = {"exportPerson": OF_PHONE, "previewPolicy": OF_PHONE}
# What must have been called before, by how a path begins.
BEFORE = {
    "/otp/{": "sendCode",
    "/links/{": "shortenLink",
    "/batches/{": "shortenLinks",
    "/messages/": "sendCode",
    "/test/": "sendCode",
    "/top-up/{": "createTopUp",
    "/webhooks/{": "createWebhook",
}


def addressed(api: Api, call: Call) -> str:
    """Returns the call's path, with the id of an existing object."""
    before = next((name for path, name in BEFORE.items() if call.path.startswith(path)), None)
    made = perform(api, BY_NAME[before]).body if before else {}
    path = call.path.replace("{phone}", PHONE)
    name = "verification" if call.path.startswith("/otp/{") else "id"
    return path.replace("{id}", made.get(name) or made.get("batch") or "")


def perform(api: Api, call: Call) -> Answer:
    """Makes the call, after the calls that it depends on."""
    if call.name == "verifyCode":
        perform(api, BY_NAME["sendCode"])
        code = api.get("/test/messages", {"phone": PHONE}).body["data"][0]["code"]
        return api.post("/otp/verify", {"phone": PHONE, "code": code})
    if call.name == "reportEntered":
        sent = api.post("/otp/send", {"phone": PHONE, "code": "4821"})
        return api.post("/otp/feedback", {"id": sent.body["id"]})
    path = addressed(api, call)
    body = orjson.dumps(ASKED[call.name]) if call.name in ASKED else b""
    return api.call(call.method, path + QUERIES.get(call.name, ""), body)
