"""Limits how many audit events one user can cause.

Anybody may sign up, and the audit log is kept for ever. Downloads and views of recovery codes are
recorded too.
"""

from accounts.models import User
from storage.atomic_limits import GRANTED, LimiterDownError, Window, acquire

CHANGES = ((1000, 600), (5000, 86_400))  # (count, seconds)


def exceeds_change_limit(user: User) -> bool:
    """Counts an action and returns whether it exceeds the limit; False while Redis is
    unavailable.
    """
    windows = [Window(f"changes:{seconds}:{user.pk}", limit, seconds) for limit, seconds in CHANGES]
    try:
        return acquire(windows).outcome != GRANTED
    except LimiterDownError:
        return False
