"""Any server that calls by HTTP: JSON, a form or a query string, parsed by a member's mapping."""

from django.utils.translation import gettext_lazy as _

from identity_hooks import mapping, signatures
from identity_hooks.kind import Kind, Setting

_BODY = (
    '{"phone": "+79161234567", "code": "123456", "locale": "ru", "purpose": "login",'
    ' "ip": "203.0.113.7"}'
)
AUTH0 = """// KVITOK_SECRET = {secret}
exports.onExecuteCustomPhoneProvider = async (event, api) => {
  const {recipient, code, locale, delivery_method} = event.notification;
  if (delivery_method !== 'text') return api.notification.drop('only text messages');
  const response = await fetch('{url}', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${event.secrets.KVITOK_SECRET}`,
    },
    body: JSON.stringify({phone: recipient, code, locale, ip: event.request && event.request.ip}),
  });
  if (response.status >= 500) return api.notification.retry(`Kvitok ${response.status}`);
  if (!response.ok) return api.notification.drop(`Kvitok ${response.status}`);
};"""
BETTER_AUTH = """// better-auth makes and checks the code
phoneNumber({
  sendOTP: async ({phoneNumber, code}) => {
    const response = await fetch('{url}', {
      method: 'POST',
      headers: {'Content-Type': 'application/json', Authorization: 'Bearer {secret}'},
      body: JSON.stringify({phone: phoneNumber, code}),
    });
    if (!response.ok) throw new APIError('BAD_REQUEST', await response.json());
  },
})"""
OUR_CODE = """// Kvitok makes and checks the code: an API key instead of this connection
const kvitok = async (path, body) => fetch('{api}' + path, {
  method: 'POST',
  headers: {'Content-Type': 'application/json', Authorization: `Bearer ${process.env.KVITOK_KEY}`},
  body: JSON.stringify(body),
});
phoneNumber({
  sendOTP: async ({phoneNumber}) => { await kvitok('/otp/send', {phone: phoneNumber}); },
  verifyOTP: async ({phoneNumber, code}) =>
    (await kvitok('/otp/verify', {phone: phoneNumber, code})).ok,
})"""

KIND = Kind(
    name="generic",
    title=_("Another server"),
    source="",
    check=signatures.token,
    is_checked_by_headers=False,
    check_by_mapping=mapping.check_of,
    secrets_by_mapping=mapping.secrets_of,
    read=lambda call, options: mapping.parse_call(options.mapping, call, options),
    simulate=lambda trial: mapping.simulate(trial.options.mapping, trial),
    methods=frozenset({"POST", "PUT", "GET"}),
    finds_code_in_text=True,
    settings=(
        Setting(
            _("A call that the default mapping reads"),
            "curl {url} \\\n  -H 'Authorization: Bearer {secret}' \\\n"
            f"  -H 'Content-Type: application/json' \\\n  -d '{_BODY}'",
            "bash",
        ),
        Setting(
            _("With the secret among the Action's secrets"),
            AUTH0,
            "javascript",
            "Auth0 → Actions → Library → Custom Phone Provider",
        ),
        Setting(_("With its own code"), BETTER_AUTH, "javascript", "better-auth"),
        Setting(_("With our code and a key of the API"), OUR_CODE, "javascript", "better-auth"),
    ),
)
