"""API keys: how they look, how they are told from junk, and who stands behind one."""

import hashlib
import secrets
import time
import zlib
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from threading import Lock

from django.db import connection

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM_LENGTH = 32  # 190 bits
CHECKSUM_LENGTH = 6
CACHE_SECONDS = 2.0  # so a revoke holds within two seconds in every process
CACHE_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class Principal:
    """The key a request came with and what its company has set. Read once every two seconds."""

    key_id: int
    mode: str
    scopes: frozenset[str]
    allowed_ips: tuple[str, ...]
    company_id: int
    company_status: str
    country: str
    language: str
    brand: str
    default_channel: str
    code_length: int
    allowed_countries: frozenset[str]
    default_link_lifetime: int | None
    api_rate: int | None

    @property
    def is_test(self) -> bool:
        return self.mode == "test"

    def allows_ip(self, ip: str) -> bool:
        if not self.allowed_ips:
            return True
        try:
            address = ip_address(ip)
        except ValueError:  # a socket has no address, and a proxy may write anything
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in ip_network(one, strict=False) for one in self.allowed_ips)


def _checksum(text: str) -> str:
    value, digits = zlib.crc32(text.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        digits = ALPHABET[digit] + digits
    return digits


def generate(mode: str) -> str:
    body = f"kv_{mode}_" + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
    return body + _checksum(body)


def is_well_formed(key: str) -> bool:
    """Tells junk without a query; secret scanners can do the same."""
    return (
        key.isascii()
        and key.startswith(("kv_live_", "kv_test_"))
        and len(key) == 8 + RANDOM_LENGTH + CHECKSUM_LENGTH
        and key[-CHECKSUM_LENGTH:] == _checksum(key[:-CHECKSUM_LENGTH])
    )


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


# Reads the key and notes its use at most once a minute, in the same round trip.
_READ = """
WITH used AS (
  UPDATE accounts_apikey SET last_used_at = now()
  WHERE digest = %(digest)s AND revoked_at IS NULL
    AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute'))
SELECT k.id, k.mode, k.scopes, k.allowed_ips, c.id, c.status, c.country, c.language,
       left(COALESCE(NULLIF(c.brand, ''), c.name), 30), c.default_channel, c.code_length,
       c.allowed_countries, c.default_link_lifetime, c.api_rate
FROM accounts_apikey k JOIN accounts_company c ON c.id = k.company_id
WHERE k.digest = %(digest)s AND k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > now())
"""

_cache: dict[bytes, tuple[float, Principal | None]] = {}
_lock = Lock()


def find(key: str) -> Principal | None:
    """Who this key speaks for; None for junk and for unknown, revoked or expired keys."""
    if not is_well_formed(key):
        return None
    key_digest = digest(key)
    fresh_until, principal = _cache.get(key_digest, (0.0, None))
    if fresh_until > time.monotonic():
        return principal
    principal = _read(key_digest)
    with _lock:
        if len(_cache) >= CACHE_SIZE:
            _cache.clear()
        _cache[key_digest] = (time.monotonic() + CACHE_SECONDS, principal)
    return principal


def forget(key_digest: bytes) -> None:
    """Empties this process's cache of a key; others let it go within CACHE_SECONDS."""
    _cache.pop(bytes(key_digest), None)


def forget_all() -> None:
    _cache.clear()


def _read(key_digest: bytes) -> Principal | None:
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"digest": key_digest})
        row = cursor.fetchone()
    if row is None:
        return None
    (key_id, mode, scopes, ips, company, status, country, language, brand, channel, length,
     countries, lifetime, rate) = row  # fmt: skip
    return Principal(
        key_id=key_id,
        mode=mode,
        scopes=frozenset(scopes),
        allowed_ips=tuple(ips),
        company_id=company,
        company_status=status,
        country=country,
        language=language,
        brand=brand,
        default_channel=channel,
        code_length=length,
        allowed_countries=frozenset(countries),
        default_link_lifetime=lifetime,
        api_rate=rate,
    )
