"""The hash of a password takes a quarter of a second of a processor, and anybody may sign in."""

from django.contrib.auth import hashers

from storage.heavy_work import HeavyWork

HASHES = HeavyWork("hashes of passwords", most=2)  # also in the transaction of a sign-up


class PBKDF2PasswordHasher(hashers.PBKDF2PasswordHasher):
    """Django's, a few at a time."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with HASHES.turn(None):
            return super().encode(password, salt, iterations)
