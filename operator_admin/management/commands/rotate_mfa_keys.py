"""`manage.py rotate_mfa_keys`: encrypts everything under MFA_KEYS with the first of them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.sign_in import mfa
from channels.vendor_accounts import stored_credentials
from identity_hooks import hooks
from operator_admin.doctor import key_rotation
from storage.key_rings import PLAINTEXT, current_key_id


class Command(BaseCommand):
    help = (
        "Encrypts the secrets of second factors and of identity servers and the credentials of "
        "vendors with the first of MFA_KEYS; then the old keys may be dropped. Run it after every "
        "process was restarted with the new key first."
    )

    def handle(self, **_options: Any) -> None:
        _require_key_in_all_processes()
        counts = mfa.rotate() + stored_credentials.rotate() + hooks.rotate_keys()
        current = current_key_id()
        for key_id, count in sorted(counts.items()):
            name = "no key" if key_id == PLAINTEXT else f"key {key_id}"
            self.stdout.write(f"{name}: {count}")
        self.stdout.write(f"All {counts.total()} secrets are under key {current} now.")


def _require_key_in_all_processes() -> None:
    """Raises if a process lacks the key: it could not check second factors encrypted with it."""
    rings = key_rotation.rings_of("MFA_KEYS")
    current = rings[key_rotation.THIS_PROCESS][0]
    if lacking := [process for process, ring in rings.items() if current not in ring]:
        raise CommandError(
            f"These processes do not know key {current_key_id()} yet: {', '.join(lacking)}. "
            "Append it to their MFA_KEYS and restart them first."
        )
