"""Twilio's Python client, unmodified, against the running service.

`twilio_sdk.py ADDRESS KEY SERVICE READER [SCHEMA]`

ADDRESS is the dialect's, KEY a test key for clients, SERVICE its service, READER an ordinary test
key that reads what phones show. With SCHEMA, spec/yaml/twilio_verify_v2.yaml of twilio/twilio-oai,
each answer that succeeds is compared with it.
"""

import json
import re
import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from openapi_schema_validator import OAS30Validator
from twilio.base.exceptions import TwilioException, TwilioRestException
from twilio.http.http_client import TwilioHttpClient
from twilio.rest import Client

from tests.judges import sdk_cases
from tests.judges.sdk_cases import new_phone as phone
from tests.judges.sdk_cases import wrong

ADDRESS, KEY, SERVICE, READER = sys.argv[1:5]
code_at = partial(sdk_cases.code_at, ADDRESS, READER)
SCHEMA: Any = yaml.safe_load(Path(sys.argv[5]).read_text("utf-8")) if len(sys.argv) > 5 else None
ACCOUNT = "AC" + "0123456789abcdef" * 2
compared = 0


class Recorder(TwilioHttpClient):
    """The client's own transport, which also checks the responses."""

    def request(self, *args: Any, **kwargs: Any) -> Any:
        method, uri = args[:2]
        response = super().request(*args, **kwargs)
        if SCHEMA:
            compare(
                method.lower(),
                urlsplit(uri).path.removeprefix(urlsplit(ADDRESS).path),
                response.status_code,
                response.text,
            )
        return response


def compare(method: str, path: str, status: int, text: str) -> None:
    global compared  # noqa: PLW0603 - how many answers were compared is printed
    body: Any = json.loads(text) if text else None
    if status >= 400:
        assert body["status"] == status
        assert isinstance(body["code"], int)
        return
    # The template with the fewest parameters: /v2/Attempts/Summary is no {Sid}.
    templates = sorted(SCHEMA["paths"], key=lambda path_template: path_template.count("{"))
    template = next(
        path_template
        for path_template in templates
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path_template), path)
    )
    responses = SCHEMA["paths"][template][method]["responses"]
    assert str(status) in responses, f"{method} {template} answered {status}"
    schema = responses[str(status)]["content"]["application/json"]["schema"]
    OAS30Validator(schema | {"components": SCHEMA["components"]}).validate(body)
    named = schema.get("$ref", "").rsplit("/", 1)[-1]
    if named:  # nothing is required there: each property is meant to come
        assert body.keys() == SCHEMA["components"]["schemas"][named]["properties"].keys(), named
    compared += 1


Twilio: Any = Client
client = Twilio(ACCOUNT, KEY, http_client=Recorder())
client.verify.base_url = ADDRESS
service = client.verify.v2.services(SERVICE)


def refusal(call: Callable[[], object]) -> tuple[int, int | None]:
    try:
        call()
    except TwilioRestException as error:
        return error.status, error.code
    except TwilioException as error:  # of a list, with the response
        response = error.args[1]
        return response.status_code, json.loads(response.text)["code"]
    raise AssertionError("not refused")


def create(number: str, **more: Any) -> Any:
    return service.verifications.create(to=number, **{"channel": "sms"} | more)


def check(code: str, **named: str) -> Any:
    return service.verification_checks.create(code=code, **named)


def starts_and_approves() -> None:
    number = phone()
    started = create(number)
    assert (started.status, started.valid, started.channel) == ("pending", False, "sms")
    assert (started.sid[:2], started.account_sid) == ("VE", ACCOUNT)
    assert isinstance(started.date_created, datetime)
    code = code_at(number)
    assert check(wrong(code), to=number).status == "pending"
    approved = check(code, to=number)
    assert (approved.status, approved.valid, approved.sid) == ("approved", True, started.sid)
    assert refusal(lambda: check(code, to=number)) == (404, 20404)


def approves_by_id() -> None:
    number = phone()
    started = create(number)
    assert check(code_at(number), verification_sid=started.sid).valid
    assert service.verifications(started.sid).fetch().status == "approved"


def cancels() -> None:
    number = phone()
    started = create(number)
    code = code_at(number)
    assert service.verifications(started.sid).update(status="canceled").status == "canceled"
    assert refusal(lambda: check(code, to=number)) == (404, 20404)
    assert create(number).sid != started.sid


def fetches_by_number() -> None:
    number = phone()
    started = create(number, channel="whatsapp")
    assert service.verifications(number).fetch().sid == started.sid
    assert started.send_code_attempts[0]["channel"] == "WHATSAPP"


def counts_attempts() -> None:
    number = phone()
    started = create(number)
    for _ in range(5):
        try:
            check(wrong(code_at(number)), to=number)
        except TwilioRestException as error:
            assert (error.status, error.code) == (429, 60202)  # noqa: PT017 - no pytest here
    assert refusal(lambda: check("000000", to=number)) == (429, 60202)
    assert service.verifications(started.sid).fetch().status == "max_attempts_reached"


def names_bad_input() -> None:
    assert refusal(lambda: create("+7")) == (400, 60200)
    assert refusal(lambda: create("9161234567")) == (400, 60200)
    assert refusal(lambda: create(phone(), channel="pigeon")) == (400, 60200)
    assert refusal(lambda: create(phone(), channel="call")) == (400, 60223)
    assert refusal(lambda: check("12", to=phone())) == (400, 60200)


def lists_the_service_and_attempts() -> None:
    number = phone()
    started = create(number)
    assert [listed.sid for listed in client.verify.v2.services.list(limit=5)] == [SERVICE]
    assert service.fetch().code_length in range(4, 9)
    attempts = client.verify.v2.verification_attempts.list(verification_sid=started.sid)
    (attempt,) = attempts
    assert client.verify.v2.verification_attempts(attempt.sid).fetch().channel == "sms"
    assert client.verify.v2.verification_attempts_summary().fetch().total_attempts >= 1
    assert refusal(lambda: client.verify.v2.verification_attempts.list(limit=1)) == (403, 20003)


def refuses_strangers() -> None:
    stranger = Twilio(ACCOUNT, "x" * 32)
    stranger.verify.base_url = ADDRESS
    assert refusal(lambda: stranger.verify.v2.services(SERVICE).fetch()) == (401, 20003)
    other = client.verify.v2.services("VA" + "0" * 32)
    assert refusal(other.fetch) == (404, 20404)
    assert refusal(lambda: service.rate_limits.list(limit=1)) == (404, 20404)


CASES = [
    starts_and_approves,
    approves_by_id,
    cancels,
    fetches_by_number,
    counts_attempts,
    names_bad_input,
    lists_the_service_and_attempts,
    refuses_strangers,
]

if __name__ == "__main__":
    for case in CASES:
        case()
        print(f"ok {case.__name__}")
    print(f"{len(CASES)} cases passed, {compared} answers compared with the schema")
