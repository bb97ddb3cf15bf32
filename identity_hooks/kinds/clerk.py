"""Clerk's webhook `sms.created`, for texts that Clerk does not deliver itself."""

from django.utils.translation import gettext_lazy as _

from identity_hooks.kind import CLOUD, Setting
from identity_hooks.mapped_kind import mapped_kind

KIND = mapped_kind(
    "clerk",
    "Clerk",
    source="https://clerk.com/docs/guides/development/webhooks/overview",
    # Svix repeats for days what was not accepted: a code is of use for ten minutes.
    mapping={
        "phone": "/data/to_phone_number",
        "code": "/data/data/otp_code",
        "text": "/data/message",
        "ip": "/event_attributes/http_request/client_ip",
        "repeat_id": "/data/id",
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
            "The server makes the secret of the signatures. Enter it here: “Replace the secret”, "
            "“The server's own secret”."
        ),
        _("The server calls after its own answer, so the person is told nothing of a refusal."),
    ),
)
