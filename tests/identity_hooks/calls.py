"""Hooks, and calls of their servers."""

import time
from typing import Any, cast

import orjson
from django.http import HttpResponse
from django.test import Client

from accounts.models import Company
from identity_hooks import hooks
from identity_hooks.hook_call import SimulatedCall
from identity_hooks.kind import Trial
from identity_hooks.models import Hook

PHONE = "+79161234567"
CODE = "561166"


def make_hook(company: Company, kind: str, mode: str = "live", **values: Any) -> Hook:
    hook, _secret = hooks.create(
        company=company, user=None, kind=kind, mode=mode, values={"name": kind, **values}
    )
    return hook


def secret_of(hook: Hook) -> str:
    return hooks.secrets_of(hook)[0]


def simulated(
    hook: Hook,
    *,
    phone: str = PHONE,
    code: str = CODE,
    secret: str = "",
    at: float | None = None,
) -> SimulatedCall:
    kind = hooks.kind_of(hook)
    options = hooks.options_of(hook)
    now = time.time() if at is None else at
    return kind.simulate(Trial(secret or secret_of(hook), phone, code, now, options))


def send(hook: Hook, call: SimulatedCall, path: str = "", **meta: Any) -> HttpResponse:
    headers = {name: text for name, text in call.headers.items() if name != "Content-Type"}
    address = (path or hook.path) + (f"?{call.query}" if call.query else "")
    content_type = call.headers.get("Content-Type", "")
    return call_at(address, call.method, call.body, content_type, headers=headers, **meta)


def call_at(
    path: str,
    method: str,
    body: bytes = b"",
    content_type: str = "application/json",
    **meta: Any,
) -> HttpResponse:
    return cast("HttpResponse", Client().generic(method, path, body, content_type, **meta))


def body_of(response: HttpResponse) -> Any:
    return orjson.loads(response.content)
