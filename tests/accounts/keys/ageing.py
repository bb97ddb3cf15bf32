"""Ages the keys that a process has cached."""

from accounts.keys import api_keys

TIMES = ("read_at", "ends_at", "due_at", "used_at")


def age_cache(seconds: float) -> None:
    known = api_keys._valid_keys
    known._asked_at -= seconds
    known._answered_at -= seconds
    for entry in known.entries.values():
        for name in TIMES:
            setattr(entry, name, getattr(entry, name) - seconds)
    for digest, (fresh_until, value) in list(api_keys._invalid_keys.entries.items()):
        api_keys._invalid_keys.entries[digest] = (fresh_until - seconds, value)
