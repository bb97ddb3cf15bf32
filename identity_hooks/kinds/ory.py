"""Ory Kratos: the courier's channel `sms`, with a body made by our Jsonnet."""

from django.utils.translation import gettext_lazy as _

from identity_hooks import signatures
from identity_hooks.hook_call import HookCall, SimulatedCall, WantedMessage, code_in, json_call
from identity_hooks.kind import CLOUD, EVERYWHERE, SELF_HOSTED, HookOptions, Kind, Setting, Trial

PURPOSES = {
    "login_code": "login",
    "registration_code": "registration",
    "verification_code": "phone_verification",
    "recovery_code": "password_reset",
}
JSONNET = """function(ctx) {
  local data = if 'template_data' in ctx then ctx.template_data else {},
  local codes = [
    data[name]
    for name in ['login_code', 'registration_code', 'verification_code', 'recovery_code']
    if name in data && data[name] != ''
  ],
  to: ctx.recipient,
  code: if std.length(codes) > 0 then codes[0] else '',
  text: ctx.body,
  type: ctx.template_type,
  expires_in_minutes: if 'expires_in_minutes' in data then data.expires_in_minutes else 0,
}"""


def _read(call: HookCall, options: HookOptions) -> WantedMessage:
    text = call.text("text") or call.text("body") or call.text("Body")
    code = call.text("code")
    template = call.text("type").removesuffix("_valid")
    minutes = call.payload.get("expires_in_minutes")
    return WantedMessage(
        phone=call.text("to") or call.text("To"),
        code=code or code_in(text, options.code_length),
        text=text,
        purpose=PURPOSES.get(template, ""),
        lifetime=minutes * 60 if isinstance(minutes, int | float) and minutes > 0 else None,
    )


def _simulate(trial: Trial) -> SimulatedCall:
    payload = {
        "to": trial.phone,
        "code": trial.code,
        "text": f"Your login code is: {trial.code}\n\n@example.com #{trial.code}\n",
        "type": "login_code_valid",
        "expires_in_minutes": 15,
    }
    return json_call(payload, {"Authorization": f"Bearer {trial.secret}"})


KIND = Kind(
    name="ory",
    title="Ory Kratos",
    source="https://github.com/ory/kratos courier/http_channel.go",
    check=signatures.token,
    read=_read,
    simulate=_simulate,
    finds_code_in_text=True,
    settings=(
        Setting(
            SELF_HOSTED,
            "courier:\n"
            "  channels:\n"
            "    - id: sms\n"
            "      type: http\n"
            "      request_config:\n"
            "        url: {url}\n"
            "        method: POST\n"
            "        body: file:///etc/kratos/kvitok.jsonnet\n"
            "        auth:\n"
            "          type: api_key\n"
            "          config:\n"
            "            in: header\n"
            "            name: Authorization\n"
            "            value: Bearer {secret}",
            "yaml",
            place="kratos.yml",
        ),
        Setting(EVERYWHERE, JSONNET, "jsonnet", place="kvitok.jsonnet"),
        Setting(
            CLOUD,
            "ory patch identity-config $PROJECT --format yaml \\\n"
            "  --add '/courier/channels/0/id=\"sms\"' \\\n"
            "  --add '/courier/channels/0/request_config/url=\"{url}\"' \\\n"
            "  --add '/courier/channels/0/request_config/method=\"POST\"' \\\n"
            "  --add '/courier/channels/0/request_config/body=\"base64://'"
            "$(base64 -w0 kvitok.jsonnet)'\"' \\\n"
            '  --add \'/courier/channels/0/request_config/auth={"type":"api_key","config":'
            '{"in":"header","name":"Authorization","value":"Bearer {secret}"}}\'',
            "bash",
            place="Ory CLI",
        ),
    ),
    notes=(
        _("The id of the channel must stay as it is here."),
        _("A refused call is repeated, five times unless the settings say otherwise."),
    ),
)
