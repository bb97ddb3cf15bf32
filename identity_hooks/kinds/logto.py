"""Logto's connector *HTTP SMS*."""

from django.utils.translation import gettext_lazy as _

from identity_hooks import signatures
from identity_hooks.hook_call import HookCall, SimulatedCall, WantedMessage, json_call
from identity_hooks.kind import EVERYWHERE, HookOptions, Kind, Setting, Trial

PURPOSES = {
    "SignIn": "login",
    "Register": "registration",
    "ForgotPassword": "password_reset",
    "OrganizationInvitation": "invitation",
    "Generic": "",
    "UserPermissionValidation": "confirmation",
    "BindNewIdentifier": "phone_change",
    "MfaVerification": "mfa",
    "BindMfa": "mfa",
}


def _read(call: HookCall, _options: HookOptions) -> WantedMessage:
    code = call.text("payload", "code")
    return WantedMessage(
        phone=_with_plus(call.text("to")),
        code=code,
        link="" if code else call.text("payload", "link"),
        purpose=PURPOSES.get(call.text("type"), ""),
        locale=call.text("payload", "locale") or _first_locale(call.text("payload", "uiLocales")),
        ip=call.text("ip"),
    )


def _with_plus(phone: str) -> str:
    """Adds the plus that some versions of Logto leave out: it stores numbers without."""
    return f"+{phone}" if phone[:1].isdigit() and not phone.startswith("0") else phone


def _first_locale(locales: str) -> str:
    """The first of OpenID Connect's `ui_locales`, which are separated by spaces."""
    return locales.split(" ", maxsplit=1)[0]


def _simulate(trial: Trial) -> SimulatedCall:
    payload = {"to": trial.phone, "type": "SignIn", "payload": {"code": trial.code}}
    return json_call(payload, {"Authorization": f"Bearer {trial.secret}"})


KIND = Kind(
    name="logto",
    title="Logto",
    source="https://github.com/logto-io/logto packages/connectors/connector-http-sms",
    check=signatures.token,
    read=_read,
    simulate=_simulate,
    settings=(
        Setting(
            EVERYWHERE,
            "Endpoint              {url}\nAuthorization Header  Bearer {secret}",
            place="Connectors → Email and SMS → SMS connector → HTTP SMS",
        ),
        Setting(
            _("The same as a file"),
            '{"endpoint": "{url}", "authorization": "Bearer {secret}"}',
            "json",
            place="JSON",
        ),
    ),
    notes=(
        _("The server's type of use becomes the purpose unless the connection names one."),
        _("An invitation without a code goes out as a message with a short link."),
    ),
)
