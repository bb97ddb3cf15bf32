"""Settings in sections, safe by default. `.env.example` lists every variable."""

from hashlib import sha256
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from catalogue.channels import CHANNELS
from catalogue.languages import page_languages
from config.environment import addresses, mail_address, vendor_settings
from config.environment.library_settings import (
    ARTICLES,
    FACTOR_FORMS,
    PAGES,
    PASSWORD_FORMS,
    PASSWORD_VALIDATORS,
    RATE_LIMITS,
)
from config.environment.monitoring_settings import (  # noqa: F401 - settings of these names
    OPERATOR_EMAILS,
    OPERATOR_MUTED_ALERTS,
    OPERATOR_TELEGRAM_BOT_TOKEN,
    OPERATOR_TELEGRAM_CHAT_ID,
    TRACING,
)
from config.environment.oidc_settings import *  # noqa: F403 - its __all__ are settings
from config.environment.production_checks import require_safe, validate_environment
from config.environment.stores import *  # noqa: F403 - its __all__ are settings
from config.environment.variables import (
    ROOT,
    at_least,
    country,
    env,
    hosts,
    keyring,
    listed,
    mailbox,
    provider_timeout,
    request_header,
    seconds,
    time_zone,
    web_address,
    zero_or_at_least,
)
from config.schedule import SCHEDULE
from processes import logs

# --- Where it runs ---------------------------------------------------------------------------

ENVIRONMENT = validate_environment(env.str("ENVIRONMENT", "production"))
PRODUCTION = ENVIRONMENT == "production"
DEBUG = env.bool("DEBUG", False)
VAR_DIR = Path(env.str("VAR_DIR", "") or ROOT / "var")
PUBLIC_URL = env.str("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
SHORT_URL = (env.str("SHORT_URL", "") or PUBLIC_URL).rstrip("/")
SIMULATOR_URL = env.str("SIMULATOR_URL", "")
TERMS_URL = web_address("TERMS_URL")  # on every page and e-mail, if set
PRIVACY_URL = web_address("PRIVACY_URL")
SUPPORT_URL = web_address("SUPPORT_URL")
SUPPORT_EMAIL = env.str("SUPPORT_EMAIL", "")
BASE_DIR = ROOT


def _secret(name: str, minimum: int) -> str:
    value = env.str(name, "")
    if len(value) < minimum:
        raise ImproperlyConfigured(
            f"{name} must be set to at least {minimum} random characters (see .env.example)"
        )
    return value


SECRET_KEY = _secret("SECRET_KEY", 50)
SECRET_KEY_FALLBACKS = listed("SECRET_KEY_FALLBACKS")
OTP_KEYS = keyring(env.str("OTP_KEYS", ""))  # not SECRET_KEY, so each can be rotated alone
# Secrets of webhooks are derived from these keys, so they must be kept.
_DEV_WEBHOOK_KEYS = "" if PRODUCTION else f"1:{sha256(SECRET_KEY.encode()).hexdigest()}"
WEBHOOK_KEYS = keyring(env.str("WEBHOOK_KEYS", _DEV_WEBHOOK_KEYS), "WEBHOOK_KEYS")
_DEV_MFA_KEYS = "" if PRODUCTION else f"1:{sha256(b'mfa' + SECRET_KEY.encode()).hexdigest()}"
MFA_KEYS = keyring(env.str("MFA_KEYS", _DEV_MFA_KEYS), "MFA_KEYS")  # encrypt second factors at rest

ALLOWED_HOSTS = listed("ALLOWED_HOSTS", "" if PRODUCTION else "*")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
TRUSTED_PROXY_COUNT = at_least(0, "TRUSTED_PROXY_COUNT", 0)
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXY_COUNT

# --- Applications ----------------------------------------------------------------------------

INSTALLED_APPS = [
    "accounts",
    "api",
    "webhooks",
    "cabinet",
    "billing",
    "channels",
    "otp",
    "compat",
    "links",
    "identity_hooks",
    "persons",
    "api_docs",
    "operator_admin.apps.OperatorAdminSiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "accounts.oidc",
    "operator_admin.apps.OperatorAdminConfig",  # after the apps whose admin pages it replaces
    *("django_htmx", "django_structlog", "csp"),
]

MIDDLEWARE = [
    "config.middleware.SkipPageMiddleware",  # API paths skip to ChainEnd
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.RequestLog",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "config.middleware.ReadableForms",  # before the next, which reads forms
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.security.middleware.AccountSecurityMiddleware",  # before allauth's, for exceptions
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.NoStore",
    "config.middleware.ErrorPages",
    "config.middleware.ChainEnd",
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False  # never redirects a POST; URL patterns allow a slash

TEMPLATES = [
    {
        "BACKEND": "accounts.people.time_zones.ReaderTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": PAGES,
    },
    {**ARTICLES, "DIRS": [ROOT / "api_docs" / "articles"]},
]
FORM_RENDERER = "parsing.form_fields.FormRenderer"

# --- Celery: mail, sweeps, the delivery loop's process; PostgreSQL holds the truth --------------

CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_REJECT_ON_WORKER_LOST = False  # a task that kills its worker would repeat forever
CELERY_WORKER_POOL = "threads"  # the delivery loop shares the process with the tasks
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # delivery in the worker needs no broker
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # also if a full Redis refuses writes
# Detects a hanging Redis within 6 to 11 seconds; with kombu's own interval it takes up to 51.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 900, "health_check_interval": 5}
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = SCHEDULE
CELERY_BEAT_SCHEDULER = "config.celery:Scheduler"

# --- Prices, limits and deadlines ------------------------------------------------------------

PRICES = {
    channel.name: at_least(1, f"PRICE_{channel.name.upper()}", channel.price)
    for channel in CHANNELS
}
# Minimum token budgets of a company: per day, and per hour and country.
BUDGET_DAY = at_least(1, "BUDGET_DAY", 3200)
BUDGET_COUNTRY_HOUR = at_least(1, "BUDGET_COUNTRY_HOUR", 800)
BUDGET_USUAL = (3, 28)  # (factor, days): factor × the busiest of the last days
BUDGET_WARNING = 80  # per cent of a budget at which owners get an e-mail
MAX_BUDGET = 1_000_000_000  # largest budget an owner may set, in tokens
AUTO_APPROVE_COMPANIES = env.bool("AUTO_APPROVE_COMPANIES", False)
# Minimum number of companies behind a day's figures on the public status page.
STATUS_MIN_COMPANIES = at_least(1, "STATUS_MIN_COMPANIES", 3)

# The currency of prices per token; a package names its own
CURRENCY = (env.str("CURRENCY", "") or "RUB").upper()
REQUEST_LOG_DAYS = zero_or_at_least(1, "REQUEST_LOG_DAYS", 14)
MAX_TOP_UP_TOKENS = 100_000_000  # in one order
MAX_OPEN_ORDERS = 50  # per company, waiting for payment

CODE_LIFETIME = at_least(60, "CODE_LIFETIME", 300)  # seconds
CODE_ATTEMPTS = 5
CODE_LIFETIME_RANGE = (60, 900)  # range that a send may choose from
LONGEST_CODE_LIFETIME = max(CODE_LIFETIME, CODE_LIFETIME_RANGE[1])
RESEND_MARGIN = 60  # seconds; a code with less time left is replaced, not resent
HOLD_DEADLINE = {  # seconds until a hold without proof of delivery is released
    "code": at_least(60, "HOLD_DEADLINE_CODE", 600),
    "link": at_least(60, "HOLD_DEADLINE_LINK", 86_400),
}
if HOLD_DEADLINE["code"] < CODE_LIFETIME:
    raise ImproperlyConfigured("HOLD_DEADLINE_CODE must be CODE_LIFETIME or more")
PATIENCE_RANGE = (10, 600)  # range a company may set
LEASE = env.int("LEASE", 30)  # seconds a worker may hold an attempt without an outcome
SEND_WAIT = seconds("SEND_WAIT", 8.0, at_least=0)  # seconds a send waits for its first outcome
# Per process; a slow vendor must leave threads to verify
SEND_WAITERS = at_least(0, "SEND_WAITERS", 48)
PROVIDER_TIMEOUT = provider_timeout(env.str("PROVIDER_TIMEOUT", "") or "2,8")
if sum(PROVIDER_TIMEOUT) + 5 >= LEASE:
    raise ImproperlyConfigured("LEASE must exceed the sum of PROVIDER_TIMEOUT by more than 5")
DELIVERY_THREADS = at_least(1, "DELIVERY_THREADS", 32)
MAX_SMS_SEGMENTS = 3
LINK_BLOCKLIST = hosts("LINK_BLOCKLIST")  # hosts that no link may lead to
# Requests for unknown links, per visitor: (count, seconds).
LINK_MISS_LIMIT = (30, 600)

COOL_DOWN = 60  # seconds between codes to one phone of one company
CODE_LIMITS = [(5, 600), (10, 3600), (20, 86_400)]  # sends per company and phone: (count, seconds)
LINK_LIMITS = [(5, 600), (20, 86_400)]
# Limits of a company's own settings: the cool-down's range, and maximum counts of the windows.
COOL_DOWN_RANGE = (30, 3600)
MAX_CODE_LIMITS = (10, 20, 20)
MAX_LINK_LIMITS = (10, 20)
# Per phone over all companies, separately for codes and links: the burst size, refilled evenly over
# a day. The reserve is for each company's first sends in 24 hours, if others have emptied the pool.
PHONE_POOL = (20, 86_400)
PHONE_RESERVE = (10, 86_400)
RESERVED_SENDS = 2
RELEASE_LIMIT = (3, 600)  # refused sends that give their slot back, per company and phone
WRONG_CODE_LIMITS = [(10, 3600), (20, 86_400)]  # wrong codes per company and phone
REFUSED_VERIFY_LIMIT = (10, 600)  # verify calls without a live code, per company and phone
API_RATE = (at_least(1, "API_RATE", 1000), 10)  # requests per key: (count, seconds)
# Per company and day, for all its test keys; `keys` counts values of Idempotency-Key and kilobytes
# of their responses, and `changes` audited calls.
TEST_QUOTAS = {"links": 3000, "messages": 3000, "changes": 3000, "keys": 20_000}
MESSAGE_STORAGE = "config.middleware.MessageStorage"
MAX_API_BODY = 65_536  # bytes
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 2**20  # vendors batch receipts; the API has its own limit
# Seconds from the headers to the end of the body
BODY_TIMEOUT = seconds("BODY_TIMEOUT", 10.0, at_least=0.1)
MAX_BODIES = 1000  # received at once, per process
MAX_BODIES_PER_SENDER = 100  # a key, or without one an IP address
MAX_BODY_MEMORY = 2**26  # bytes of all received bodies, per process
UNREAD_TIMEOUT = 60.0  # seconds without reading the response
PHONE_RETENTION = 90  # days
RAW_RETENTION = 30  # days
# Whole months besides this one that stay in the database; 0: all. Younger rows may still change.
MIN_KEPT_MONTHS = 4
MESSAGES_KEPT_MONTHS = zero_or_at_least(MIN_KEPT_MONTHS, "MESSAGES_KEPT_MONTHS", 0)
ARCHIVE_DIR = env.str("ARCHIVE_DIR", "")  # where `manage.py archive_months` writes
COUNTRY_HEADER = request_header("COUNTRY_HEADER")
COUNTRY_DATABASE = env.str("COUNTRY_DATABASE", "")  # a MaxMind .mmdb file

# --- Webhooks ----------------------------------------------------------------------------------

WEBHOOK_THREADS = 32  # calls at once, per worker
WEBHOOK_CONNECT = 3.0  # seconds to connect to an endpoint
WEBHOOK_TIMEOUT = 10.0  # seconds for the whole call
WEBHOOK_LEASE = 60  # seconds until a call without a recorded outcome is repeated
WEBHOOKS_TO_LOOPBACK = not PRODUCTION  # a developer's local receiver, over plain http too
MAX_ENDPOINTS = 10  # per company and mode

# --- Providers -----------------------------------------------------------------------------------

PROVIDER_ACCOUNTS = vendor_settings.accounts()
GATEWAY_ACCOUNTS = vendor_settings.gateway_accounts()
PAYMENT_GATEWAYS = vendor_settings.enabled_gateways(is_production=PRODUCTION)
PAYMENT_PROXY = addresses.proxy("payments")
addresses.check_names({*PROVIDER_ACCOUNTS, *GATEWAY_ACCOUNTS, "payments", "oidc"})
MAX_BREAKER_PAUSE = at_least(1, "MAX_BREAKER_PAUSE", 3600)  # seconds that a breaker stays open
# In the simulator everybody has shared their contact with the bots.
BOTS_ASSUME_CONTACT = bool(SIMULATOR_URL)

# --- People ----------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = PASSWORD_VALIDATORS
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_MAX_EMAIL_ADDRESSES = 10  # each gets an e-mail from us
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if PRODUCTION else "optional"
ACCOUNT_SIGNUP_FORM_CLASS = "cabinet.forms.SignupForm"
ACCOUNT_FORMS = {
    "signup": "accounts.sign_in.password_forms.EnumerationSafeSignupForm",
    "reset_password": "accounts.sign_in.password_forms.ResetPasswordForm",
    **PASSWORD_FORMS,
}
ACCOUNT_ADAPTER = "accounts.sign_in.adapter.AccountAdapter"
ACCOUNT_RATE_LIMITS = RATE_LIMITS
PASSWORD_HASHERS = ["accounts.sign_in.passwords.PBKDF2PasswordHasher"]
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300  # seconds; signing in is no reauthentication
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = True
ACCOUNT_EMAIL_NOTIFICATIONS = True  # to the owner, about every change of the account
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if PRODUCTION else "http"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "home"
MFA_FORMS = FACTOR_FORMS
MFA_ADAPTER = "accounts.sign_in.mfa.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION  # plain http in development
MFA_TOTP_ISSUER = "Kvitok"
MFA_TOTP_TOLERANCE = 1  # step of 30 s, either way: people type slowly, and clocks differ
SOCIALACCOUNT_ADAPTER = "accounts.oidc.provider.SocialAccountAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False  # see accounts.oidc.identities
SOCIALACCOUNT_STORE_TOKENS = False

_LOCAL_MAIL = "smtp://localhost" if PRODUCTION else "files:"
_SERVER = mail_address.parse(env.str("EMAIL_URL", "") or _LOCAL_MAIL)
EMAIL_BACKEND: str = _SERVER["EMAIL_BACKEND"]
EMAIL_FILE_PATH = VAR_DIR / "mail"
EMAIL_HOST: str = _SERVER["EMAIL_HOST"]
EMAIL_PORT: int = _SERVER["EMAIL_PORT"]
EMAIL_HOST_USER: str = _SERVER["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD: str = _SERVER["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = map(bool, (_SERVER["EMAIL_USE_TLS"], _SERVER["EMAIL_USE_SSL"]))
EMAIL_TIMEOUT = 10  # seconds; a hanging mail server blocks a task, no page
DEFAULT_FROM_EMAIL = mailbox("DEFAULT_FROM_EMAIL", "Kvitok <no-reply@localhost>")

# --- The operator's admin -----------------------------------------------------------------------

OPERATOR_MFA = env.bool("OPERATOR_MFA", True)  # the admin requires a second factor
METRICS_PORT: int | None = at_least(0, "METRICS_PORT", 0) or None
METRICS_HOST = env.str("METRICS_HOST", "127.0.0.1")
METRICS_DIR = Path(env.str("METRICS_DIR", "") or VAR_DIR / "metrics")

# --- Language, time, files ---------------------------------------------------------------------

LANGUAGE_CODE = "ru"
LANGUAGES = page_languages.declared(LANGUAGE_CODE)
OPERATOR_LANGUAGE = env.str("OPERATOR_LANGUAGE", "") or LANGUAGE_CODE
if OPERATOR_LANGUAGE not in dict(LANGUAGES):
    raise ImproperlyConfigured(f"OPERATOR_LANGUAGE must be one of {', '.join(dict(LANGUAGES))}")
LOCALE_PATHS = [ROOT / "locale"]
TIME_ZONE = time_zone("TIME_ZONE", "Europe/Moscow")
OPERATOR_COUNTRY = country("OPERATOR_COUNTRY", "RU")  # for national phone numbers in the admin
USE_TZ = True
FORMAT_MODULE_PATH = "catalogue.formats"
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", "") or ROOT / "staticfiles")
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION

# --- Browser security ----------------------------------------------------------------------------

SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SECURE = PRODUCTION
# With the prefix no other host of the domain can set this cookie.
_COOKIE_PREFIX = "__Host-" if PRODUCTION else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}session"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrftoken"
# `processes.server.https` does it, and refuses the API rather than redirect.
SECURE_SSL_REDIRECT = False
HSTS_SECONDS = 31_536_000
SECURE_HSTS_SECONDS = HSTS_SECONDS if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXY_COUNT else None
SILENCED_SYSTEM_CHECKS = [
    "auth.W004",  # the e-mail is unique, by a constraint on its lower case
    "security.W008",  # SECURE_SSL_REDIRECT: see above
]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
    },
}

# --- Logs ----------------------------------------------------------------------------------------

LOGGING = logs.configure(env.log_level("LOG_LEVEL", "INFO"))

if PRODUCTION:
    require_safe(globals())
