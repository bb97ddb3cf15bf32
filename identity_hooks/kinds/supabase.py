"""Supabase Auth's hook *Send SMS*."""

from uuid import uuid4

import orjson
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError, Error
from identity_hooks import responses, signatures
from identity_hooks.hook_call import (
    HookCall,
    SimulatedCall,
    WantedMessage,
    json_call,
    unreadable,
)
from identity_hooks.kind import CLOUD, HookOptions, Kind, Setting, Trial

_AS_STATUS = {
    Error.INVALID_API_KEY,
    Error.NOT_FOUND,
    Error.METHOD_NOT_ALLOWED,
    Error.HTTPS_REQUIRED,
}


def _read(call: HookCall, _options: HookOptions) -> WantedMessage:
    is_second_factor = call.text("sms", "sms_type") == "mfa"
    phone = call.text("sms", "phone") or _only_phone(call, is_second_factor=is_second_factor)
    return WantedMessage(
        phone=phone if phone.startswith("+") else f"+{phone}",
        code=call.text("sms", "otp"),
        purpose="mfa" if is_second_factor else "",
        ip=call.text("metadata", "ip_address"),
    )


def _only_phone(call: HookCall, *, is_second_factor: bool) -> str:
    """The user's only number, for versions before 2.180, which do not name the recipient.

    A second factor's number is unknown, and during a change either number is possible.
    """
    phones = {call.text("user", "phone"), call.text("user", "new_phone")} - {""}
    if is_second_factor or len(phones) > 1:
        raise unreadable("unnamed_phone")
    return phones.pop() if phones else ""


def _respond_refused(refusal: DomainError) -> HttpResponse:
    """The response to a refused call: 200 with `error`, or 503 with Retry-After for a retry.

    The text of a status of 400 or more does not reach the person. After 503 the server calls again,
    within its 5 seconds.
    """
    status = refusal.error.status
    body = {"error": {"http_code": status, "message": responses.for_a_person(refusal)}}
    if refusal.error in _AS_STATUS:
        return responses.as_json(status, body)
    if refusal.error is Error.UNAVAILABLE:
        return responses.with_retry(responses.as_json(status, body), refusal)
    return responses.as_json(200, body)


def _simulate(trial: Trial) -> SimulatedCall:
    payload = {
        "metadata": {"uuid": str(uuid4()), "time": int(trial.at), "name": "send-sms"},
        "user": {"id": str(uuid4()), "phone": trial.phone.removeprefix("+")},
        "sms": {"otp": trial.code, "phone": trial.phone.removeprefix("+")},
    }
    body = orjson.dumps(payload)
    message_id = str(uuid4())
    headers = signatures.standard_headers("webhook", trial.secret, message_id, trial.at, body)
    return json_call(payload, headers)


KIND = Kind(
    name="supabase",
    title="Supabase Auth",
    source="https://github.com/supabase/auth internal/hooks",
    check=signatures.standard_webhooks(),
    is_checked_by_headers=False,
    secrets=signatures.SUPABASE,
    read=_read,
    respond_sent=lambda _outcome: responses.as_json(200, {}),
    respond_refused=_respond_refused,
    simulate=_simulate,
    patience=5,
    settings=(
        Setting(
            CLOUD,
            "URL     {url}\nSecret  {secret}",
            place="Authentication → Hooks → Send SMS → HTTPS",
        ),
        Setting(
            _("Self-hosted, as environment variables"),
            "GOTRUE_HOOK_SEND_SMS_ENABLED=true\n"
            "GOTRUE_HOOK_SEND_SMS_URI={url}\n"
            "GOTRUE_HOOK_SEND_SMS_SECRETS={secret}\n"
            "GOTRUE_EXTERNAL_PHONE_ENABLED=true\n"
            "GOTRUE_SMS_AUTOCONFIRM=false",
            "ini",
            place="GoTrue",
        ),
        Setting(
            _("For local development"),
            '[auth.hook.send_sms]\nenabled = true\nuri = "{url}"\nsecrets = "{secret}"',
            "toml",
            place="supabase/config.toml",
        ),
    ),
    notes=(
        _("Several secrets are separated by a vertical bar: while one is replaced, list both."),
        _(
            "Versions before 2.180 do not say which number a code is for: of those, a second "
            "factor and a code while a number is being changed are refused."
        ),
        _("The person sees the text of a refusal, in the company's language."),
    ),
)
