"""`manage.py rotate_mfa_keys`: encrypt every second factor with the first of MFA_KEYS."""

from typing import Any

from django.core.management.base import BaseCommand

from accounts.sign_in import mfa


class Command(BaseCommand):
    help = "Encrypts the secrets of second factors with the current key; then old keys may go."

    def handle(self, **_options: Any) -> None:
        found = mfa.rotate()
        current = mfa.current_key_id()
        for key_id, count in sorted(found.items()):
            name = "no key" if key_id == mfa.PLAINTEXT else f"key {key_id}"
            self.stdout.write(f"{name}: {count}")
        self.stdout.write(f"All {found.total()} secrets are under key {current} now.")
