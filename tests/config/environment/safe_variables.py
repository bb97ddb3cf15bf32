"""Variables with which production starts."""

import hashlib
from base64 import urlsafe_b64encode

# The same in every process: they are in the names of tests, by which xdist compares its workers.
KEYS = [urlsafe_b64encode(hashlib.sha512(bytes([n])).digest()).decode() for n in range(5)]
SAFE = {
    "ENVIRONMENT": "production",
    "SECRET_KEY": KEYS[0],
    "OTP_KEYS": f"k1:{KEYS[1]}",
    "WEBHOOK_KEYS": f"k1:{KEYS[2]}",
    "MFA_KEYS": f"k1:{KEYS[4]}",
    "PUBLIC_URL": "https://kvitok.example",
    "ALLOWED_HOSTS": "kvitok.example",
}
