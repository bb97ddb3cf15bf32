"""Keycloak with netzbegruenung's SMS authenticator: a sentence that contains the code."""

import re

from django.utils.translation import gettext_lazy as _

from identity_hooks import signatures
from identity_hooks.hook_call import (
    CallRefusedError,
    HookCall,
    SimulatedCall,
    WantedMessage,
    code_in,
    json_call,
)
from identity_hooks.kind import HookOptions, Kind, Setting, Trial

# The plugin does not escape the sentence, so a quote or a line break in it breaks the JSON. Two
# patterns, because a single one takes time quadratic in the body's length.
_BEGINNING = re.compile(r'"(?:text|message)"\s*:\s*"')
_END = re.compile(r'"\s*,\s*"(?:to|phone)"\s*:\s*"([^"]*)"')


def _read(call: HookCall, options: HookOptions) -> WantedMessage:
    try:
        phone = call.text("to") or call.text("phone")
        text = call.text("text") or call.text("message")
    except CallRefusedError:
        body = call.body.decode(errors="replace")
        beginning = _BEGINNING.search(body)
        ends = list(_END.finditer(body, beginning.end())) if beginning else []
        if beginning is None or not ends:
            raise
        phone = ends[-1][1]
        text = body[beginning.end() : ends[-1].start()]
    return WantedMessage(phone=phone, text=text, code=code_in(text, options.code_length))


def _simulate(trial: Trial) -> SimulatedCall:
    text = f"Your SMS code is {trial.code} and is valid for 5 minutes."
    payload = {"text": text, "to": trial.phone, "from": "Kvitok"}
    return json_call(payload, {"Authorization": trial.secret})


KIND = Kind(
    name="keycloak",
    title="Keycloak",
    source="https://github.com/netzbegruenung/keycloak-mfa-plugins sms-authenticator",
    check=signatures.token,
    read=_read,
    simulate=_simulate,
    methods=frozenset({"POST", "GET"}),
    finds_code_in_text=True,
    settings=(
        Setting(
            _("Settings of the step"),
            "SMS API URL                     {url}\n"
            "API Secret Token Attribute      (empty)\n"
            "API Secret Token in Header      on\n"
            "API Secret                      {secret}\n"
            "Message Attribute               text\n"
            "Receiver Phone Number Attribute to\n"
            "Sender Phone Number Attribute   from\n"
            "SenderId                        Kvitok\n"
            "Hide response payload           on",
            place="Authentication → Flows → SMS Authentication (2FA)",
        ),
        Setting(
            _("Versions without the token in a header"),
            "API Secret                      {secret}\nBasic Auth Username             kvitok",
            place="Basic authentication",
        ),
    ),
    notes=(
        _(
            "The plugin sends a sentence. The code in it is found by its length, which is set "
            "here; a sentence with two numbers of this length is refused: keep other numbers out "
            "of the text."
        ),
        _("The plugin only logs a refusal, and the person does not see it. Look at Requests."),
    ),
)
