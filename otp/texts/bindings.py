"""The binding of a code to a payment or a document, as shown to the person and as checked.

Implements dynamic linking of PSD2 (RTS, article 5) and signatures by SMS: a person who enters the
code has seen what it confirms.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from otp.texts import rules
from parsing.characters import is_line

PAYMENT = ("amount", "payee", "currency")
DOCUMENT = ("document", "title")
MAX_NAME = 60  # characters of a payee or a title
# Digits as people write amounts, optionally with a currency sign or code: `100.50`, `1 000,00 ₽`,
# `€39.99`.
_AMOUNT = re.compile(r"(?=.*[0-9])[0-9A-Z .,'’\u00a0\u202f€$£¥₽₸₴₺₼₾֏-]{1,24}")
# Amounts have no hyphen before a digit, and three digits after a space: neither `-1` nor
# `8 800 555-35-35` is an amount.
_NO_AMOUNT = re.compile(r"-.*\d|\d[ \u00a0\u202f](?!\d{3}(?!\d))\d")
_CURRENCY = re.compile(r"[A-Z]{3}")
_HASH = re.compile(r"[0-9a-f]{64}")
SHOWN_OF_HASH = 16  # characters


def check(value: object) -> dict[str, str]:
    """The binding in its stored form; raises ValidationError with every fault.

    Empty, blank and absent are equal; the hash may be in upper case.
    """
    if not isinstance(value, dict):
        raise ValidationError(_("An object with amount and payee, or with document"))
    binding = {
        name: text for name, text in value.items() if text is not None and str(text).strip(" ")
    }
    if faults := list(_faults(binding)):
        raise ValidationError(faults)
    if "document" in binding:
        binding["document"] = binding["document"].lower()
    return binding


def _faults(binding: Mapping[str, Any]) -> Iterator[str]:
    fields = DOCUMENT if "document" in binding else PAYMENT
    if not all(isinstance(text, str) for text in binding.values()):
        yield _("All values must be strings")
        return
    for name in binding.keys() - set(fields):
        yield _("Not expected here: %(name)s") % {"name": name[:20]}
    if fields is DOCUMENT:
        if not _HASH.fullmatch(binding["document"].lower()):
            yield _("document: the SHA-256 of the document, 64 hexadecimal digits")
    else:
        yield from _payment_faults(binding)
    for name in ("payee", "title"):
        if name in binding:
            yield from (f"{name}: {fault}" for fault in _name_faults(binding[name]))


def _payment_faults(binding: Mapping[str, str]) -> Iterator[str]:
    amount = binding.get("amount", "")
    if not _AMOUNT.fullmatch(amount) or _NO_AMOUNT.search(amount):
        yield _("amount: up to 24 characters with digits, such as 100.50")
    if "payee" not in binding:
        yield _("payee: who is paid")
    if not _CURRENCY.fullmatch(binding.get("currency", "RUB")):
        yield _("currency: three capital letters of ISO 4217")


def _name_faults(name: str) -> Iterator[str]:
    if len(name) > MAX_NAME or not is_line(name):
        yield _("Up to %(max)d printable characters in one line") % {"max": MAX_NAME}
        return
    if set("{}") & set(name):
        yield _("No braces")
    yield from rules.addresses(name)


def line(binding: Mapping[str, str]) -> str:
    """The line below the text: `100.50 RUB → Shop`, `Contract, SHA-256: 9f86d081884c7d65…`."""
    if "document" in binding:
        fingerprint = f"SHA-256: {binding['document'][:SHOWN_OF_HASH]}…"
        return f"{binding['title']}, {fingerprint}" if "title" in binding else fingerprint
    amount = " ".join(binding[name] for name in ("amount", "currency") if name in binding)
    return f"{amount} → {binding['payee']}"
