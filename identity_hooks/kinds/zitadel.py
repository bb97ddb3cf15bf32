"""Zitadel's SMS provider of type HTTP."""

import orjson
from django.utils.translation import gettext_lazy as _

from identity_hooks import signatures
from identity_hooks.hook_call import HookCall, SimulatedCall, WantedMessage, json_call
from identity_hooks.kind import HookOptions, Kind, Setting, Trial

NANOSECONDS = 1e9
PURPOSES = {
    "user.human.phone.code.added": "phone_verification",
    "user.human.password.code.added": "password_reset",
    "user.human.otp.sms.code.added": "login",
    "session.otp.sms.challenged": "login",
}


def _read(call: HookCall, _options: HookOptions) -> WantedMessage:
    """The message of a call.

    The code is `args.code` for a phone's verification and `args.oTP` for a sign-in: Zitadel lowers
    only the first letter.
    """
    phone = call.text("contextInfo", "recipientPhoneNumber")
    expiry = call.text("args", "expiry")[:20]
    lifetime = int(expiry) / NANOSECONDS if expiry.isascii() and expiry.isdigit() else 0
    return WantedMessage(
        phone=phone,
        code=call.text("args", "code") or call.text("args", "oTP") or call.text("args", "otp"),
        purpose=PURPOSES.get(call.text("contextInfo", "eventType"), ""),
        locale=call.text("args", "preferredLanguage"),
        lifetime=lifetime or None,  # 0 for phone verification and password reset
    )


def _simulate(trial: Trial) -> SimulatedCall:
    payload = {
        "contextInfo": {
            "eventType": "session.otp.sms.challenged",
            "provider": {"id": "1", "description": "Kvitok"},
            "recipientPhoneNumber": trial.phone,
        },
        "templateData": {"text": f"{trial.code} is your one-time password."},
        "args": {"oTP": trial.code, "expiry": int(300 * NANOSECONDS)},
    }
    timestamp = str(int(trial.at))
    body = orjson.dumps(payload)
    signature = signatures.zitadel_signature(trial.secret, timestamp, body)
    return json_call(payload, {"ZITADEL-Signature": f"t={timestamp},v1={signature}"})


KIND = Kind(
    name="zitadel",
    title="Zitadel",
    source="https://zitadel.com/docs/guides/manage/customize/notification-providers",
    check=signatures.zitadel,
    is_checked_by_headers=False,
    read=_read,
    simulate=_simulate,
    patience=5,
    settings=(
        Setting(
            _("Cloud and self-hosted: create the provider, then activate it"),
            "curl -L 'https://$DOMAIN/admin/v1/sms/http' -H \"Authorization: Bearer $TOKEN\" \\\n"
            "  -H 'Content-Type: application/json' \\\n"
            '  -d \'{"endpoint": "{url}", "description": "Kvitok"}\'\n'
            'curl -X POST "https://$DOMAIN/admin/v1/sms/$ID/_activate"'
            ' -H "Authorization: Bearer $TOKEN"',
            "bash",
        ),
        Setting(
            _("Versions without a signing key: the secret is the end of the address"),
            "{url}/{secret}",
        ),
    ),
    notes=(
        _(
            "The server creates the signing secret. Enter it here: “Replace the secret”, "
            "“The server's own secret”."
        ),
        _("Codes that verify a phone contain letters, which Telegram Gateway cannot carry."),
    ),
)
