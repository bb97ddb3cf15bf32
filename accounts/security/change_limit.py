"""The bound on what one person does that leaves rows in the audit log, which is kept for ever:
anybody may sign up. Downloads and looks at recovery codes are recorded too.
"""

from accounts.models import User
from storage.atomic_limits import GRANTED, LimiterDownError, Window, acquire

CHANGES = ((1000, 600), (5000, 86_400))  # (count, seconds)


def changes_too_much(user: User) -> bool:
    """Counts one more; False while Redis is away."""
    windows = [Window(f"changes:{seconds}:{user.pk}", most, seconds) for most, seconds in CHANGES]
    try:
        return acquire(windows).verdict != GRANTED
    except LimiterDownError:
        return False
