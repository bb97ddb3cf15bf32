"""authentik's stage *SMS Authenticator Setup*, with the generic provider."""

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError
from identity_hooks import responses, signatures
from identity_hooks.hook_call import HookCall, SimulatedCall, WantedMessage, json_call
from identity_hooks.kind import EVERYWHERE, HookOptions, Kind, Setting, Trial


def _read(call: HookCall, _options: HookOptions) -> WantedMessage:
    """The message of a call: `Body` is only the code, `Message` a sentence, `To` as typed."""
    return WantedMessage(phone=call.text("To"), code=call.text("Body"), text=call.text("Message"))


def _respond_refused(refusal: DomainError) -> HttpResponse:
    """The response to a refused call, whose body authentik shows to the person."""
    return responses.with_retry(
        responses.as_text(refusal.error.status, responses.for_a_person(refusal)), refusal
    )


def _simulate(trial: Trial) -> SimulatedCall:
    payload = {
        "From": "Kvitok",
        "To": trial.phone,
        "Body": trial.code,
        "Message": f"Use this code to authenticate in authentik: {trial.code}",
    }
    return json_call(payload, {"Authorization": f"Bearer {trial.secret}"})


KIND = Kind(
    name="authentik",
    title="authentik",
    source="https://github.com/goauthentik/authentik authentik/stages/authenticator_sms/models.py",
    check=signatures.token,
    read=_read,
    respond_sent=lambda outcome: responses.as_text(200, responses.sent_sentence(outcome)),
    respond_refused=_respond_refused,
    simulate=_simulate,
    settings=(
        Setting(
            EVERYWHERE,
            "Provider               Generic\n"
            "From number            Kvitok\n"
            "External API URL       {url}\n"
            "API Auth Username      {secret}\n"
            "Authentication Type    Bearer Token\n"
            "Mapping                —",
            place="Flows and Stages → Stages → SMS Authenticator Setup Stage",
        ),
        Setting(
            _("The same with name and password"),
            "Authentication Type    Basic Auth\n"
            "API Auth Username      kvitok\n"
            "API Auth password      {secret}",
            place="Basic Auth",
        ),
        Setting(
            _("The same as a file"),
            "- model: authentik_stages_authenticator_sms.authenticatorsmsstage\n"
            "  identifiers: {name: kvitok-sms}\n"
            "  attrs:\n"
            "    provider: generic\n"
            "    from_number: Kvitok\n"
            "    account_sid: {url}\n"
            "    auth: {secret}\n"
            "    auth_type: bearer",
            "yaml",
            place="blueprint",
        ),
    ),
    notes=(_("The person sees the text of a refusal, in the company's language."),),
)
