"""ALTCHA proofs of work: a second in a person's browser, but expensive for many requests.

A challenge is valid for one number of one company, for ten minutes and one send. It is signed and
not stored; only used challenges are remembered, in Redis. Without Redis a challenge can be used
again: the protection lets requests through when it cannot read its state, and budgets bound them.
"""

import hashlib
from datetime import timedelta
from typing import Any

import structlog
from altcha import Payload, create_challenge, verify_solution
from django.utils import timezone
from django.utils.crypto import salted_hmac
from redis.exceptions import RedisError

from catalogue.errors import DomainError, Error
from storage.redis_client import redis_client

log = structlog.get_logger(__name__)

ALGORITHM = "PBKDF2/SHA-256"
COST = 3000  # iterations of one try: about a millisecond
KEY_PREFIX = "00"  # one try in 256 succeeds
LIFETIME = timedelta(minutes=10)
MAX_LENGTH = 4000  # characters of a solution


def create(company_id: int, phone: str) -> dict[str, Any]:
    """A challenge for ALTCHA's widget: `parameters` and `signature`."""
    challenge = create_challenge(
        algorithm=ALGORITHM,
        cost=COST,
        key_prefix=KEY_PREFIX,
        expires_at=timezone.now() + LIFETIME,
        data={"for": _recipient(company_id, phone)},
        hmac_secret=_secret(),
    )
    fields: dict[str, Any] = challenge.to_dict()
    return fields


def check(company_id: int, phone: str, solved: str) -> None:
    """Marks the challenge as used.

    Raises `challenge_required` with a new challenge unless it is solved and unused.
    """
    if not (solved and _is_good(company_id, phone, solved)):
        raise DomainError(Error.CHALLENGE_REQUIRED, challenge=create(company_id, phone))


def _is_good(company_id: int, phone: str, solved: str) -> bool:
    if len(solved) > MAX_LENGTH or not verify_solution(solved, _secret()).verified:
        return False
    parameters = Payload.from_base64(solved).challenge.parameters
    is_for = (parameters.data or {}).get("for") == _recipient(company_id, phone)
    return is_for and _mark_used(parameters.nonce)


def _mark_used(nonce: str) -> bool:
    """Remembers the challenge; whether this is its first use."""
    try:
        return bool(
            redis_client().set(_key(nonce), 1, nx=True, ex=int(LIFETIME.total_seconds()) + 60)
        )
    except RedisError as error:
        log.warning("guard_challenge_not_marked", error=type(error).__name__)
        return True


def allow_reuse(solved: str) -> None:
    """Lets the challenge be used again after the send failed for another reason."""
    try:
        redis_client().delete(_key(Payload.from_base64(solved).challenge.parameters.nonce))
    except RedisError as error:
        log.warning("guard_challenge_not_given_back", error=type(error).__name__)


def _key(nonce: str) -> str:
    return f"guard:solved:{hashlib.sha256(nonce.encode()).hexdigest()}"


def _recipient(company_id: int, phone: str) -> str:
    salt = f"otp.protection.challenge.{company_id}"
    return salted_hmac(salt, phone, algorithm="sha256").hexdigest()[:24]


def _secret() -> str:
    return salted_hmac("otp.protection.challenge", "", algorithm="sha256").hexdigest()
