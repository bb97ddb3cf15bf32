"""The scopes that a send belongs to, the widest first: what an attack may have in common."""

from dataclasses import dataclass
from enum import StrEnum


class ScopeKind(StrEnum):
    COUNTRY = "country"
    RANGE = "range"  # an operator's: all but the last seven digits
    TEN_THOUSAND = "prefix-4"
    THOUSAND = "prefix-3"
    HUNDRED = "prefix-2"
    IP = "ip"
    DEVICE = "device"


CUTS = (
    (ScopeKind.RANGE, 7),
    (ScopeKind.TEN_THOUSAND, 4),
    (ScopeKind.THOUSAND, 3),
    (ScopeKind.HUNDRED, 2),
)


@dataclass(frozen=True, slots=True)
class Scope:
    kind: ScopeKind
    value: str


def scopes_of(phone: str, country: str, ip: str = "", device: str = "") -> tuple[Scope, ...]:
    """Of an E.164 number. Without a country the first four characters stand for it."""
    found = [Scope(ScopeKind.COUNTRY, country or phone[:4])]
    found += [Scope(kind, phone[:-digits]) for kind, digits in CUTS if len(phone) > digits + 2]
    if ip:
        found.append(Scope(ScopeKind.IP, ip))
    if device:
        found.append(Scope(ScopeKind.DEVICE, device))
    return tuple(found)
