"""The hash of a password takes a quarter of a second of a processor. A flood of sign-ins from many
addresses must leave processors, threads and database connections to codes and links.
"""

from threading import BoundedSemaphore

from django.contrib.auth import hashers
from django.db import OperationalError, connection

from storage.sessions import give_back

MAX_HASHES = 2  # at once, per process
MAX_WAITING = 8  # threads; what comes on top is told at once that the service is busy
PATIENCE = 4.0  # seconds that they wait for a turn
_turns = BoundedSemaphore(MAX_HASHES)
_queue = BoundedSemaphore(MAX_HASHES + MAX_WAITING)


class PBKDF2PasswordHasher(hashers.PBKDF2PasswordHasher):
    """Django's, a few at a time; raises OperationalError, which becomes a 503, when it is busy."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        give_back()
        # Sign-up hashes in a transaction, whose connection nobody may hold while waiting.
        patience = 0 if connection.in_atomic_block else PATIENCE
        if not _queue.acquire(blocking=False):
            raise OperationalError("too many passwords wait to be hashed")
        try:
            if not _turns.acquire(timeout=patience):
                raise OperationalError("too many passwords are being hashed")
            try:
                return super().encode(password, salt, iterations)
            finally:
                _turns.release()
        finally:
            _queue.release()
