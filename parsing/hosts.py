"""Host names, read like in browsers: UTS 46, non-transitional, https://unicode.org/reports/tr46/.

Python's own `idna` codec is IDNA 2003, which turns faß.de into fass.de, another owner's site;
`idna.encode` refuses emoji, which some registries sell.
"""

import re
from functools import cache
from importlib.resources import files
from unicodedata import bidirectional

import idna

MAX_LENGTH = 253  # RFC 1035, as text
MAX_LABEL = 63
_PREFIX = "xn--"
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?")
_JOINERS = "\u200c\u200d"


class HostError(ValueError):
    pass


def ascii_host(text: str) -> str:
    """The host in ASCII and lower case, without the final dot of the DNS root."""
    if len(text) > MAX_LENGTH + 1:  # for a thousand longer ones the mapping would take a second
        raise HostError(text)
    try:
        mapped = idna.uts46_remap(text, std3_rules=False)
        host = ".".join(map(_ascii_label, mapped.removesuffix(".").split(".")))
    except UnicodeError:  # idna's own errors are its subclasses
        raise HostError(text) from None
    if len(host) > MAX_LENGTH or not all(map(_LABEL.fullmatch, host.split("."))):
        raise HostError(text)
    return host


def ascii_address(address: str) -> str:
    """An e-mail address with its domain in ASCII; Django would encode the domain by IDNA 2003."""
    name, _at, domain = address.rpartition("@")
    return address if domain.isascii() else f"{name}@{ascii_host(domain)}"


def address_spellings(address: str) -> set[str]:
    """The address with its domain as written, in ASCII and in Unicode."""
    name, _at, domain = address.rpartition("@")
    try:
        host = ascii_host(domain)
    except HostError:
        return {address}
    return {address, f"{name}@{host}", f"{name}@{unicode_host(host)}"}


def unicode_label(label: str) -> str:
    """The Unicode form of a label of an ASCII host."""
    if not label.startswith(_PREFIX):
        return label
    try:
        decoded = label.removeprefix(_PREFIX).encode("ascii").decode("punycode")
        if decoded.isascii() or idna.uts46_remap(decoded, std3_rules=False) != decoded:
            raise HostError(label)
        if _ascii_label(decoded) != label:
            raise HostError(label)
    except UnicodeError:
        raise HostError(label) from None
    return decoded


def unicode_host(host: str) -> str:
    """An ASCII host in Unicode; unchanged if it cannot be decoded."""
    try:
        return ".".join(map(unicode_label, host.split(".")))
    except HostError:
        return host


def _ascii_label(label: str) -> str:
    if len(label) > MAX_LABEL:  # Punycode takes quadratic time, and makes no label shorter
        raise HostError(label)
    if label.isascii():
        unicode_label(label)
        return label
    idna.check_nfc(label)
    idna.check_initial_combiner(label)
    if any(bidirectional(char) in {"R", "AL", "AN"} for char in label):
        idna.check_bidi(label)
    for position, char in enumerate(label):
        if char in _JOINERS and not idna.valid_contextj(label, position):
            raise HostError(label)
    return _PREFIX + label.encode("punycode").decode("ascii")


@cache
def top_level_domains() -> frozenset[str]:
    """Top-level domains in Unicode and Punycode, from the Public Suffix List that fido2 ships."""
    listed = (files("fido2") / "public_suffix_list.dat").read_text("utf-8")
    rules = (line.strip() for line in listed.splitlines())
    names = {rule.rpartition(".")[2] for rule in rules if rule and not rule.startswith("//")}
    return frozenset(names | set(map(ascii_host, names)))
