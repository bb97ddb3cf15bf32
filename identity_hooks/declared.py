"""Declarations of identity servers' hooks, which the packages below them read."""

from django.utils.translation import gettext_lazy as _

from accounts import audit
from api import body_admission
from identity_hooks.kinds import kinds
from identity_hooks.web.hook_view import ENTRY_POINT, PREFIX

body_admission.register_entry_point(
    PREFIX, ENTRY_POINT, {name: kind.title for name, kind in kinds().items()}
)
audit.declare(
    {
        "hook.created": _("connected an identity server"),
        "hook.changed": _("changed the connection of an identity server"),
        "hook.rotated": _("replaced the secret of an identity server"),
        "hook.revoked": _("revoked the connection of an identity server"),
        "hook.tried": _("tried the connection of an identity server"),
    }
)
