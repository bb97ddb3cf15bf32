"""The signed header by which `doctor` asks the service how it sees a request."""

from collections.abc import Mapping
from typing import Any

from django.core import signing

HEADER = "X-Kvitok-Probe"
_META = "HTTP_X_KVITOK_PROBE"
_SALT = "kvitok.probe"
MAX_AGE = 60  # seconds


def sign() -> str:
    return signing.dumps("probe", salt=_SALT)


def is_signed(meta: Mapping[str, Any]) -> bool:
    """Whether the header was signed with SECRET_KEY within the last minute."""
    if _META not in meta:
        return False
    try:
        signing.loads(meta[_META], salt=_SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return False
    return True
