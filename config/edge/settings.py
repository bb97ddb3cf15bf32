"""Settings of an edge. What both have is named as the service names it, and must have its value.

An edge holds no key of the service: its token opens what its visitors may see anyway.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config import logs
from config.environment import redis_address
from config.environment.production_checks import addresses, validate_environment
from config.environment.secret_strength import weakness
from config.environment.variables import (
    KEYS_OF_THE_SERVICE,
    ROOT,
    at_least,
    env,
    keyring,
    web_address,
)

if found := [name for name in KEYS_OF_THE_SERVICE if env.str(name, "")]:
    raise ImproperlyConfigured(f"no edge may hold {', '.join(found)}: unset them on this machine")

# --- As on the origin --------------------------------------------------------------------------

ENVIRONMENT = validate_environment(env.str("ENVIRONMENT", "production"))
PRODUCTION = ENVIRONMENT == "production"
PUBLIC_URL = env.str("PUBLIC_URL").rstrip("/")
SHORT_URL = env.str("SHORT_URL").rstrip("/")
TERMS_URL = web_address("TERMS_URL")
PRIVACY_URL = web_address("PRIVACY_URL")
SUPPORT_URL = web_address("SUPPORT_URL")
SUPPORT_EMAIL = env.str("SUPPORT_EMAIL", "")
LINK_MISS_LIMIT = (at_least(1, "LINK_MISS_LIMIT", 30), 600)
COUNTRY_HEADER = env.str("COUNTRY_HEADER", "")
COUNTRY_DATABASE = env.str("COUNTRY_DATABASE", "")
HSTS_SECONDS = 31_536_000

# --- Of this machine -----------------------------------------------------------------------------

TRUSTED_PROXY_COUNT = at_least(0, "TRUSTED_PROXY_COUNT", 0)
EDGE_TOKEN = env.str("EDGE_TOKEN", "")
EDGE_ORIGIN_URL = env.str("EDGE_ORIGIN_URL", "") or PUBLIC_URL
EDGE_REPLICA_URL = env.str("EDGE_REPLICA_URL", "") or "redis://127.0.0.1:6379/0"
EDGE_MAX_STALENESS = at_least(10, "EDGE_MAX_STALENESS", 900)  # seconds
EDGE_MISS_RATE = at_least(1, "EDGE_MISS_RATE", 50)  # a second, per process
REDIS_URL = redis_address.with_password(env.str("REDIS_URL"), env.str("REDIS_PASSWORD", ""))
REDIS_TIMEOUT = env.float("REDIS_TIMEOUT", 0.05)  # of the replica
REDIS_CONNECT_TIMEOUT = 2.0  # seconds: of the master, which is far away
LINKS_REDIS_URL = ""  # read from the replica instead
METRICS_PORT: int | None = int(env.str("METRICS_PORT", "") or 0) or None
METRICS_HOST = env.str("METRICS_HOST", "127.0.0.1")
METRICS_DIR = Path(env.str("METRICS_DIR", "") or ROOT / "var" / "metrics")

BODY_TIMEOUT = env.float("BODY_TIMEOUT", 10.0)
MAX_BODIES = at_least(1, "MAX_BODIES", 1000)
MAX_BODIES_PER_SENDER = at_least(1, "MAX_BODIES_PER_SENDER", 100)
MAX_BODY_MEMORY = at_least(2**23, "MAX_BODY_MEMORY", 2**26)
UNREAD_TIMEOUT = env.float("UNREAD_TIMEOUT", 60.0)

# --- Django's part: templates, languages, files --------------------------------------------------

DEBUG = False
SECRET_KEY = sha256(f"edge {EDGE_TOKEN}".encode()).hexdigest()  # nothing here is signed with it
INSTALLED_APPS = ["django.contrib.staticfiles"]
DATABASES: dict[str, object] = {}
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "OPTIONS": {"libraries": {"legal": "accounts.templatetags.legal"}},
    },
]
LANGUAGE_CODE = "ru"
LANGUAGES = [("ru", "Русский"), ("en", "English")]
LOCALE_PATHS = [ROOT / "locale"]
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", "") or ROOT / "staticfiles")
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
LOGGING = logs.configure(env.str("LOG_LEVEL", "") or "INFO")


def _problems() -> Iterator[str]:
    if urlsplit(SHORT_URL).netloc == urlsplit(PUBLIC_URL).netloc:
        yield "SHORT_URL needs a host of its own: an edge serves nothing but short links"
    if not PRODUCTION:
        return
    yield from addresses({"PUBLIC_URL": PUBLIC_URL, "SHORT_URL": SHORT_URL})
    if not EDGE_ORIGIN_URL.startswith("https://"):
        yield "EDGE_ORIGIN_URL is not https: the token must not travel in the clear"
    if why := weakness(EDGE_TOKEN.partition(":")[2]):
        yield f"EDGE_TOKEN {why}: make another, there and in EDGE_TOKENS of the origin"


if len(keyring(EDGE_TOKEN, "EDGE_TOKEN")) != 1:
    raise ImproperlyConfigured("EDGE_TOKEN is one id:secret of the origin's EDGE_TOKENS")
redis_address.parse(REDIS_URL)
if redis_address.parse(EDGE_REPLICA_URL, variable="EDGE_REPLICA_URL").sentinels:
    raise ImproperlyConfigured("EDGE_REPLICA_URL names the replica itself, not Sentinels")
if listed := list(_problems()):
    raise ImproperlyConfigured("; ".join(listed))
