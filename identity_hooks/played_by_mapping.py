"""Plays the call of a server that a mapping describes: the body that the mapping reads."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import orjson

from identity_hooks import signatures
from identity_hooks.hook_call import PlayedCall, json_call
from identity_hooks.kind import Trial
from identity_hooks.mapping import steps_of


def play(trial: Trial) -> PlayedCall:
    return play_by(trial.options.mapping, trial)


def play_by(mapping: Mapping[str, Any], trial: Trial) -> PlayedCall:
    body: dict[str, Any] = {}
    values = {
        "phone": trial.phone,
        "code": trial.code,
        "text": f"Your code is {trial.code}",
        "repeat_id": str(uuid4()),
        "sent_at": int(trial.at * 1000),
    }
    for name, value in values.items():
        if mapping.get(name):
            _put(body, mapping[name], value)
    for path, value in mapping.get("only_if", {}).items():
        _put(body, path, value)
    return json_call(body, _headers(mapping.get("auth", "token"), trial, orjson.dumps(body)))


def _put(body: dict[str, Any], path: str, value: object) -> None:
    """Every step is the name of a field: an index of a list becomes one, too, and is read so."""
    *above, last = steps_of(path)
    place = body
    for step in above:
        inner = place.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        place = inner
    place[last] = value


def _headers(auth: str, trial: Trial, body: bytes) -> dict[str, str]:
    check, _colon, header = auth.partition(":")
    if check == "header":
        return {header: trial.secret}
    if check == "hmac-sha256":
        return {header: signatures.hex_hmac(trial.secret, body)}
    if check in {"svix", "standard_webhooks"}:
        prefix = "svix" if check == "svix" else "webhook"
        return signatures.standard_headers(
            prefix, trial.secret, f"msg_{uuid4().hex}", trial.at, body
        )
    return {"Authorization": f"Bearer {trial.secret}"}
