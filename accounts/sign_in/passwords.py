"""Rates new passwords against an attacker who knows the user and the product.

The strength is the sum over parts: a letter 1, a digit ½, a common word 3, and little or nothing
for known or predictable parts: the names of the product, the user and the company, a year, a row of
keys, a repetition. The password is rated as typed, with leetspeak undone (0 for o), and in the
other keyboard layout; the lowest strength counts.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from unicodedata import normalize

from django.contrib.auth import hashers
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, User
from storage.heavy_work import HeavyWork

MIN_STRENGTH = 7.5  # 31 of 20,000 random passwords of 12 letters and digits are weaker
MAX_LENGTH = 1000  # characters
RATED_LENGTH = 128  # characters that are rated: rating costs time per character
MAX_WORD_LENGTH = 16
PRODUCT_NAMES = frozenset({"kvitok", "квиток"})
OBVIOUS_WORDS = frozenset(
    {
        "password",
        "passwort",
        "pass",
        "parol",
        "пароль",
        "admin",
        "administrator",
        "root",
        "login",
        "welcome",
        "letmein",
        "secret",
        "changeme",
        "default",
        "user",
        "guest",
        "test",
        "demo",
        "master",
        "privet",
        "привет",
        "qwerty",
        "йцукен",
    }
)
require_bounded = MaxLengthValidator(MAX_LENGTH)
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LEET = str.maketrans("013457@$!|", "oieastasii")
_ROWS = ("`1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./")
_COLUMNS = ("1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm", "8ik,", "9ol.", "0p;/")
_RUSSIAN_ROWS = ("ё1234567890-=", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю.")
_TO_LATIN = str.maketrans("".join(_RUSSIAN_ROWS), "".join(_ROWS))
_TO_RUSSIAN = str.maketrans("".join(_ROWS), "".join(_RUSSIAN_ROWS))


class GuessablePasswordValidator:
    def validate(self, password: str, user: User | None = None) -> None:
        require_strong(password, words_about(user) if user else ())

    def get_help_text(self) -> str:
        return gettext("Avoid names we know, years, keyboard patterns and one or two common words.")


def require_strong(password: str, personal_words: Iterable[str]) -> None:
    require_bounded(password)
    if strength(password, personal_words) < MIN_STRENGTH:
        raise ValidationError(
            _(
                "This password is easy to guess: without common words, names we know, years "
                "and keyboard patterns there is little left of it. Use four unrelated words, "
                "or let a password manager create one."
            ),
            code="password_guessable",
        )


def words_about(user: User) -> set[str]:
    """Words publicly known about the user: mailbox, name, companies and brands."""
    texts = [user.email or "", user.name]
    if user.pk:
        companies = Company.objects.filter(members__user=user)
        texts += chain.from_iterable(companies.values_list("name", "brand"))
    return words_of(*texts)


def words_of(*texts: str) -> set[str]:
    return set(_WORD.findall(" ".join(texts).lower()))


def strength(password: str, personal_words: Iterable[str] = ()) -> float:
    # Cut twice: NFKC may expand one character to eighteen.
    typed = normalize("NFKC", password[:RATED_LENGTH]).lower()[:RATED_LENGTH]
    obvious = OBVIOUS_WORDS | PRODUCT_NAMES | set(personal_words)
    return min(_strength_of_reading(reading, obvious) for reading in _readings(typed))


def _readings(typed: str) -> Iterator[str]:
    for text in (typed, typed.translate(_TO_LATIN), typed.translate(_TO_RUSSIAN)):
        yield text
        yield text.translate(_LEET)


def _strength_of_reading(text: str, obvious: frozenset[str]) -> float:
    total = 0.0
    start = 0
    seen = set[str]()
    while start < len(text):
        part, value = _next_part(text, start, obvious)
        total += 0.0 if len(part) > 1 and part in seen else value
        seen.add(part)
        start += len(part)
    return total


def _next_part(text: str, start: int, obvious: frozenset[str]) -> tuple[str, float]:
    if year := _YEAR.match(text, start):
        return year[0], 1.0
    for length in range(min(MAX_WORD_LENGTH, len(text) - start), 2, -1):
        part = text[start : start + length]
        if part in obvious:
            return part, 1.0
        if length > 3 and part in _common_words():
            return part, 3.0
    char = text[start]
    if start > 1 and all(_is_adjacent(*text[at : at + 2]) for at in (start - 2, start - 1)):
        return char, 0.0
    return char, 1.0 if char.isalpha() else 0.5


def _is_adjacent(before: str, char: str) -> bool:
    if abs(ord(before) - ord(char)) <= 1:
        return True
    for row in (*_ROWS, *_COLUMNS, *_RUSSIAN_ROWS):
        if before in row and char in row:
            return abs(row.index(before) - row.index(char)) <= 1
    return False


@cache
def _common_words() -> frozenset[str]:
    """The purely alphabetic ones among Django's 20,000 most common passwords."""
    return frozenset(word for word in CommonPasswordValidator().passwords if word.isalpha())


# A hash takes a quarter of a second of CPU time, and anybody may try to sign in.
HASHES = HeavyWork("hashes of passwords", limit=2)  # including those inside a sign-up's transaction


class PBKDF2PasswordHasher(hashers.PBKDF2PasswordHasher):
    """Django's hasher, running a few hashes at a time."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with HASHES.turn(None):
            return super().encode(password, salt, iterations)
