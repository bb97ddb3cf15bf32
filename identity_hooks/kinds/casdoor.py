"""Casdoor's SMS provider *Custom HTTP SMS*: a form, JSON or a query string."""

from urllib.parse import urlencode

from django.utils.translation import gettext_lazy as _

from catalogue import custom_codes
from identity_hooks import signatures
from identity_hooks.hook_call import FORM, HookCall, SimulatedCall, WantedMessage, code_in
from identity_hooks.kind import EVERYWHERE, HookOptions, Kind, Setting, Trial


def _read(call: HookCall, options: HookOptions) -> WantedMessage:
    text = call.text("content") or call.text("code")
    return WantedMessage(
        phone=call.text("phoneNumber"),
        text=text,
        code=text if custom_codes.is_well_formed(text) else code_in(text, options.code_length),
    )


def _simulate(trial: Trial) -> SimulatedCall:
    fields = {"phoneNumber": trial.phone, "content": trial.code}
    headers = {"Authorization": f"Bearer {trial.secret}", "Content-Type": FORM}
    return SimulatedCall(body=urlencode(fields).encode(), headers=headers)


KIND = Kind(
    name="casdoor",
    title="Casdoor",
    source="https://github.com/casdoor/casdoor object/sms_custom_http.go",
    check=signatures.token,
    read=_read,
    simulate=_simulate,
    methods=frozenset({"POST", "PUT", "DELETE", "GET"}),
    finds_code_in_text=True,
    settings=(
        Setting(
            EVERYWHERE,
            "Method          POST\n"
            "Parameter       content\n"
            "Content type    application/json\n"
            "HTTP headers    Authorization: Bearer {secret}\n"
            "HTTP body mapping\n"
            "  phoneNumber   phoneNumber\n"
            "  content       content\n"
            "Template code   %s\n"
            "Endpoint        {url}",
            place="Providers → Add → SMS, Custom HTTP SMS",
        ),
    ),
    notes=(
        _("With GET the code is in the address, which proxies write to logs: prefer POST."),
        _("The server treats every status other than 200 as a failure."),
    ),
)
