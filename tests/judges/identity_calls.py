"""Calls of identity servers, made by what those servers use, against the running service.

`identity_calls.py KIND ADDRESS SECRET PHONE CODE [JSONNET]` prints the status and the body.
"""

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import _gojsonnet
import requests
from standardwebhooks.webhooks import Webhook as StandardWebhook
from svix.webhooks import Webhook as SvixWebhook

KIND, ADDRESS, SECRET, PHONE, CODE = sys.argv[1:6]
NOW = datetime.now(UTC)
MESSAGE_ID = f"msg_{uuid4().hex}"


def signed(prefix: str, signature: str) -> dict[str, str]:
    timestamp = str(int(NOW.timestamp()))
    return {
        f"{prefix}-id": MESSAGE_ID,
        f"{prefix}-timestamp": timestamp,
        f"{prefix}-signature": signature,
    }


def clerk() -> tuple[str, Mapping[str, str]]:
    """By Svix, which sends Clerk's webhooks; the event as Clerk's OpenAPI has it."""
    event = {
        "type": "sms.created",
        "object": "event",
        "instance_id": "ins_1",
        "timestamp": int(time.time()),
        "event_attributes": {"http_request": {"client_ip": "203.0.113.7", "user_agent": "Browser"}},
        "data": {
            "object": "sms_message",
            "id": f"sms_{CODE}",
            "slug": "verification_code",
            "from_phone_number": "+14155550100",
            "to_phone_number": PHONE,
            "phone_number_id": None,
            "message": f"{CODE} is your verification code",
            "status": "queued",
            "data": {},
            "delivered_by_clerk": False,
        },
    }
    body = json.dumps(event)
    return body, signed("svix", SvixWebhook(SECRET).sign(MESSAGE_ID, NOW, body))


def supabase() -> tuple[str, Mapping[str, str]]:
    """By the library of Standard Webhooks; two secrets are joined as internal/hooks does it."""
    hook = {
        "metadata": {"uuid": str(uuid4()), "time": NOW.isoformat(), "name": "send-sms"},
        "user": {"id": str(uuid4()), "role": "authenticated", "phone": PHONE.removeprefix("+")},
        "sms": {"otp": CODE, "phone": PHONE.removeprefix("+")},
    }
    body = json.dumps(hook)
    secrets = (SECRET.removeprefix("v1,"), "whsec_" + "c2VjcmV0" * 4)
    signatures = [StandardWebhook(secret).sign(MESSAGE_ID, NOW, body) for secret in secrets]
    return body, signed("webhook", ", ".join(signatures))


def ory() -> tuple[str, Mapping[str, str]]:
    """By go-jsonnet, to which Kratos gives the message as the top-level argument `ctx`."""
    context: dict[str, Any] = {
        "recipient": PHONE,
        "subject": "",
        "body": f"Your recovery code is: {CODE}\n\n@example.com #{CODE}\n",
        "template_type": "recovery_code_valid",
        # The name of another template's field, as courier/template/sms/recovery_code.go has it.
        "template_data": {
            "to": PHONE,
            "verification_code": CODE,
            "identity": None,
            "request_url_domain": "example.com",
            "transient_payload": None,
            "expires_in_minutes": 60,
        },
        "message_type": "sms",
        "request_headers": {},
    }
    arguments = {"ctx": json.dumps(context)}
    body = _gojsonnet.evaluate_snippet("kvitok.jsonnet", sys.argv[6], tla_codes=arguments)
    return body, {"Authorization": f"Bearer {SECRET}"}


body, headers = {"clerk": clerk, "ory": ory, "supabase": supabase}[KIND]()
response = requests.post(
    ADDRESS,
    data=body.encode(),
    headers={"Content-Type": "application/json", **headers},
    timeout=5,  # seconds, of the least patient server
)
print(response.status_code, response.text)
