"""Authgear's custom SMS gateway, called by webhook."""

import orjson
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError, Error
from catalogue.languages import page_languages
from identity_hooks import responses, signatures
from identity_hooks.hook_call import HookCall, SimulatedCall, WantedMessage, code_in, json_call
from identity_hooks.kind import CLOUD, SELF_HOSTED, HookOptions, Kind, Setting, Trial

SIGNATURE = "x-authgear-body-signature"
# The codes of pkg/lib/infra/sms/custom/client.go.
CODES = {
    Error.INVALID_API_KEY: "authentication_failed",
    Error.FORBIDDEN: "authentication_failed",
    Error.INVALID_PHONE: "invalid_phone_number",
    Error.RESEND_TOO_SOON: "rate_limited",
    Error.SEND_LIMIT: "rate_limited",
    Error.TOO_MANY_ATTEMPTS: "rate_limited",
    Error.RATE_LIMITED: "rate_limited",
    Error.INVALID_INPUT: "unsupported_request",
    Error.UNSUPPORTED_MEDIA_TYPE: "unsupported_request",
    Error.METHOD_NOT_ALLOWED: "unsupported_request",
    Error.LINK_NOT_SUPPORTED: "unsupported_request",
    Error.URL_NOT_ALLOWED: "unsupported_request",
    Error.COUNTRY_NOT_ALLOWED: "delivery_rejected",
    Error.RECIPIENT_UNREACHABLE: "delivery_rejected",
    Error.CHANNEL_UNAVAILABLE: "delivery_rejected",
    Error.CHALLENGE_REQUIRED: "delivery_rejected",
    Error.DELIVERY_FAILED: "delivery_rejected",
    Error.REQUEST_TIMEOUT: "timeout",
    Error.UNAVAILABLE: "timeout",
}


def _read(call: HookCall, options: HookOptions) -> WantedMessage:
    variables = "template_variables"
    code = call.text(variables, "code")
    link = call.text(variables, "link")
    text = call.text("body")
    if not code and not link:
        code = code_in(text, options.code_length)
    return WantedMessage(
        phone=call.text("to"),
        code=code,
        link="" if code else link,
        text=text,
        locale=call.text("language_tag"),
    )


def _respond_refused(refusal: DomainError) -> HttpResponse:
    body = {
        "code": CODES.get(refusal.error, "unknown_error"),
        "description": responses.for_a_person(refusal),
        "info": {
            "provider_name": "Kvitok",
            "provider_type": "kvitok",
            "provider_error_code": responses.code_of(refusal),
        },
    }
    return responses.as_json(refusal.error.status, body)


def _simulate(trial: Trial) -> SimulatedCall:
    payload = {
        "to": trial.phone,
        "body": f"{trial.code} is your Authgear verification code",
        "app_id": "kvitok",
        "template_name": "verification_sms.txt",
        "language_tag": page_languages.worldwide(),
        "template_variables": {"code": trial.code},
    }
    signature = signatures.hex_hmac(trial.secret, orjson.dumps(payload))
    return json_call(payload, {SIGNATURE: signature})


KIND = Kind(
    name="authgear",
    title="Authgear",
    source="https://github.com/authgear/authgear-server pkg/lib/infra/sms/custom",
    check=signatures.body_hmac(SIGNATURE),
    is_checked_by_headers=False,
    read=_read,
    respond_sent=lambda _outcome: responses.as_json(200, {"code": "ok"}),
    respond_refused=_respond_refused,
    simulate=_simulate,
    patience=60,
    finds_code_in_text=True,
    settings=(
        Setting(
            CLOUD,
            "Webhook endpoint  {url}\nTimeout           10",
            place="Advanced → SMS gateway → Custom, Webhook",
        ),
        Setting(
            SELF_HOSTED,
            "# authgear.yaml\n"
            "messaging:\n"
            "  sms_gateway: {provider: custom, use_config_from: authgear.secrets.yaml}\n"
            "# authgear.secrets.yaml\n"
            "- key: sms.custom\n"
            "  data: {url: {url}, timeout: 10}",
            "yaml",
            place="authgear.yaml, authgear.secrets.yaml",
        ),
    ),
    notes=(
        _(
            "The server creates the signing secret. Enter it here: “Replace the secret”, "
            "“The server's own secret”."
        ),
    ),
)
