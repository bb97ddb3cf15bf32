"""Judges whether a secret looks random, as opposed to typed, repeated or copied."""

import re
from itertools import pairwise

SAMPLE = 256  # characters to inspect; longer secrets repeat trigrams by chance
MIN_DISTINCT_CHARACTERS = 10  # 32 random hexadecimal digits have 14 on average
_PLACEHOLDERS = re.compile(
    r"change|secret|passw|example|insecure|placeholder|kvitok|default|qwerty|s3cret|your[-_ ]",
    re.IGNORECASE,
)


def weakness(secret: str) -> str:
    """Why it is not random, as the end of a sentence about it; empty when it looks random."""
    text = secret[:SAMPLE]
    if word := _PLACEHOLDERS.search(text):
        return f"contains the word '{word[0].lower()}'"
    if len(set(text)) < MIN_DISTINCT_CHARACTERS:
        return f"has fewer than {MIN_DISTINCT_CHARACTERS} different characters"
    kinds = (str.islower, str.isupper, str.isdigit)
    if sum(sum(map(is_kind, text)) > 1 for is_kind in kinds) < 2:
        return "has no mix of letters and digits"
    if _is_repetitive(text):
        return "repeats itself"
    if _is_sequence(text):
        return "is a sequence of neighbouring characters"
    return ""


def _is_repetitive(text: str) -> bool:
    trigrams = [text[place : place + 3] for place in range(len(text) - 2)]
    return len(set(trigrams)) < 0.8 * len(trigrams)


def _is_sequence(text: str) -> bool:
    steps = [abs(ord(one) - ord(other)) for one, other in pairwise(text)]
    return sum(step <= 1 for step in steps) > 0.5 * len(steps)
