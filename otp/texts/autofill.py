"""Autofill on the phone: a web host for WebOTP, an app hash for Android's SMS Retriever."""

import re

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from config.input.hosts import HostError, ascii_host

ANDROID_MAX_BYTES = 140  # SMS Retriever ignores longer messages
# https://developers.google.com/identity/sms-retriever/verify: base64, cut to eleven characters.
_HASH = re.compile(r"(?=.*[A-Z])(?=.*[a-z])(?!.*\d{6})[A-Za-z0-9+/]{11}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)+(?!\d+$){_LABEL}")


def check_host(text: str) -> str:
    """Returns the host normalised: lower case, international names in Punycode."""
    try:
        host = ascii_host(text.strip())
    except HostError:
        host = ""
    if not _HOST.fullmatch(host):
        raise ValidationError(
            _("The name of a site alone, without https:// and without a path: example.com.")
        )
    return host


def check_hash(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise ValidationError(
            _("Eleven characters: Latin letters, digits, + and /, as Google's tool gives them.")
        )
    return text
