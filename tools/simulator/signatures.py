"""The vendors' webhook signatures."""

import base64
import hashlib
import hmac
from collections.abc import Mapping


def whatsapp(app_secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()


def telegram_gateway(token: str, timestamp: str, body: bytes) -> str:
    key = hashlib.sha256(token.encode()).digest()
    return hmac.new(key, timestamp.encode() + b"\n" + body, hashlib.sha256).hexdigest()


def twilio(auth_token: str, url: str, form: Mapping[str, str]) -> str:
    signed = url + "".join(name + form[name] for name in sorted(form))
    mac = hmac.new(auth_token.encode(), signed.encode(), hashlib.sha1)
    return base64.b64encode(mac.digest()).decode()


def smsc(secret: str, number: str, phone: str, status: str) -> str:
    signed = f"{number}:{phone}:{status}:{secret}"
    return hashlib.md5(signed.encode(), usedforsecurity=False).hexdigest()
