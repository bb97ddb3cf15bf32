"""Generated slugs of short links."""

import secrets

# No vowels, so no accidental words; no 0 O 1 l I, so that it survives being read aloud.
ALPHABET = "23456789bcdfghjkmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ"


def generate(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
