"""Novu's provider *Generic SMS*, which sends a text."""

from django.utils.translation import gettext_lazy as _

from identity_hooks.kind import EVERYWHERE, Setting
from identity_hooks.mapped_kind import mapped_kind

KIND = mapped_kind(
    "novu",
    "Novu",
    source="https://github.com/novuhq/novu packages/providers/src/lib/sms/generic-sms",
    mapping={"phone": "/to", "text": "/content", "repeat_id": "/id"},
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
