"""Kinds whose JSON is parsed by a fixed mapping."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise
from identity_hooks.kind import CLOUD, EVERYWHERE, Kind, Setting
from identity_hooks.mapping import check_of, parse_call, secrets_of, simulate


def _kind(
    name: str,
    title: str,
    *,
    source: str,
    mapping: Mapping[str, Any],
    settings: tuple[Setting, ...],
    notes: tuple[StrOrPromise, ...] = (),
) -> Kind:
    return Kind(
        name=name,
        title=title,
        source=source,
        check=check_of(mapping),
        is_checked_by_headers=mapping.get("auth", "token") == "token",
        secrets=secrets_of(mapping),
        read=partial(parse_call, mapping),
        simulate=partial(simulate, mapping),
        finds_code_in_text="text" in mapping,
        settings=settings,
        notes=notes,
    )


# The webhook `sms.created`, for messages that Clerk does not deliver itself.
CLERK = _kind(
    "clerk",
    "Clerk",
    source="https://clerk.com/docs/guides/development/webhooks/overview",
    # Svix retries for days, whereas a code is useful for ten minutes.
    mapping={
        "phone": "/data/to_phone_number",
        "code": "/data/data/otp_code",
        "text": "/data/message",
        "ip": "/event_attributes/http_request/client_ip",
        "sent_at": "/timestamp",
        "lifetime": 600,
        "only_if": {"/type": "sms.created", "/data/delivered_by_clerk": False},
        "auth": "svix",
    },
    settings=(
        Setting(
            CLOUD,
            "Endpoint URL         {url}\nSubscribe to events  sms.created",
            place="Configure → Webhooks → Add Endpoint",
        ),
        Setting(
            _("Cloud, for each template"), "Delivered by Clerk   off", place="Customization → SMS"
        ),
    ),
    notes=(
        _(
            "The server creates the signing secret. Enter it here: “Replace the secret”, "
            "“The server's own secret”."
        ),
        _("The server calls after its own response, so the person does not learn of a refusal."),
    ),
)


# Descope's connector *Generic SMS Gateway*.
DESCOPE = _kind(
    "descope",
    "Descope",
    source="https://docs.descope.com/connectors/connector-configuration-guides/messaging/sms-gateway",
    mapping={"phone": "/recipient", "code": "/token", "text": "/body"},
    settings=(
        Setting(
            CLOUD,
            "Post Message URL  {url}\n"
            "Authentication    Bearer Token: {secret}\n"
            "Sender            Kvitok",
            place="Connectors → Generic SMS Gateway",
        ),
    ),
    notes=(_("Switch on fixed addresses of the connector and enter them here as allowed ones."),),
)


# FusionAuth's generic messenger.
FUSIONAUTH = _kind(
    "fusionauth",
    "FusionAuth",
    source="https://fusionauth.io/docs/customize/email-and-messages/generic-messenger",
    mapping={"phone": "/phoneNumber", "code": "/code", "text": "/textMessage"},
    settings=(
        Setting(
            EVERYWHERE,
            "Message types        SMS\n"
            "URL                  {url}\n"
            "Connect timeout      2000\n"
            "Read timeout         5000\n"
            "Security\n"
            "  Basic auth username  kvitok\n"
            "  Basic auth password  {secret}",
            place="Settings → Messengers → Add Generic Messenger",
        ),
    ),
    notes=(
        _("Choose the messenger for phones and for the second step in the settings of the tenant."),
    ),
)


# Novu's provider *Generic SMS*, which sends a text.
NOVU = _kind(
    "novu",
    "Novu",
    source="https://github.com/novuhq/novu packages/providers/src/lib/sms/generic-sms",
    mapping={"phone": "/to", "text": "/content"},
    settings=(
        Setting(
            EVERYWHERE,
            "Base URL                {url}\n"
            "API Key Request Header  X-Api-Key\n"
            "API Key                 {secret}\n"
            "From                    Kvitok\n"
            "Id Path                 id",
            place="Integrations Store → SMS → Generic SMS",
        ),
    ),
    notes=(
        _("Only texts with one code go out: the code is found by its length, which is set here."),
    ),
)
