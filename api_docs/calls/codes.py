"""POST /otp/send and POST /otp/verify, written down."""

from django.conf import settings

from accounts.models import Scope
from api_docs.calls.common_fields import (
    CHANNEL,
    COST,
    LOCALE,
    MESSAGE_ID,
    PHONE,
    SEND_STATUS,
    SHORT_URL,
    TEST,
    UNDERSTOOD_PHONE,
    USED_CHANNEL,
)
from api_docs.calls.link_fields import LINK_UNTIL
from api_docs.calls.shapes import Call, Field, Shape, identifier, integer, nullable, text, time
from channels.history.status_texts import status_text
from config.errors import Error
from links.addresses.target_urls import MAX_LENGTH as URL_LENGTH
from links.web.request_fields import MINUTE, MONTH
from otp.web.api import DEFAULT_PURPOSE, PURPOSE_LENGTH, VERIFIED

PURPOSE = Field(
    "purpose",
    nullable(text(minLength=1, maxLength=PURPOSE_LENGTH)),
    (
        f"Зачем нужен код: `login`, `payment` и так далее. По умолчанию `{DEFAULT_PURPOSE}`. "
        "Код одного назначения не подойдёт к другому.",
        f"What the code is for: `login`, `payment` and so on; `{DEFAULT_PURPOSE}` by default. "
        "A code of one purpose does not open another.",
    ),
    required=False,
)
SENT_REFUSALS = (
    Error.INSUFFICIENT_TOKENS,
    Error.INVALID_INPUT,
    Error.INVALID_PHONE,
    Error.COUNTRY_NOT_ALLOWED,
    Error.RECIPIENT_UNREACHABLE,
    Error.CHANNEL_UNAVAILABLE,
    Error.LINK_NOT_SUPPORTED,
    Error.URL_NOT_ALLOWED,
    Error.SEND_LIMIT,
    Error.DELIVERY_FAILED,
)

SEND_CODE = Call(
    "POST",
    "/otp/send",
    "sendCode",
    ("Отправить код", "Send a code"),
    (
        "Придумывает одноразовый код и отправляет его на номер.",
        "Makes a one-time code and sends it to the number.",
    ),
    Scope.OTP,
    page="send-code",
    message=(
        status_text("code", "whatsapp", "sent", "ru"),
        status_text("code", "whatsapp", "sent", "en"),
    ),
    body=(
        PHONE,
        PURPOSE,
        CHANNEL,
        LOCALE,
        Field(
            "link",
            nullable(text(format="uri", maxLength=URL_LENGTH)),
            (
                "Ссылка, которую нужно сократить и отправить вместе с кодом.",
                "A URL to shorten and to send along with the code.",
            ),
            required=False,
        ),
        Field(
            "link_expires_in",
            nullable(integer(MINUTE, MONTH)),
            (
                "Через сколько секунд эта ссылка перестанет открываться.",
                "After how many seconds that link stops working.",
            ),
            required=False,
        ),
        LINK_UNTIL,
    ),
    answer=(
        MESSAGE_ID,
        UNDERSTOOD_PHONE,
        USED_CHANNEL,
        SEND_STATUS,
        COST,
        TEST,
        Field(
            "expires_in",
            integer(0),
            (
                "Сколько секунд ещё действует код.",
                "For how many more seconds the code is good.",
            ),
            settings.CODE_LIFETIME,
        ),
        Field(
            "resend_in",
            integer(0),
            (
                "Через сколько секунд можно попросить код ещё раз.",
                "In how many seconds the code may be asked for again.",
            ),
            settings.COOL_DOWN,
        ),
        Field(
            "attempts_left",
            integer(0),
            (
                "Сколько попыток ввода осталось у этого кода.",
                "How many guesses this code has left.",
            ),
            settings.CODE_ATTEMPTS,
        ),
        Field(
            "short_url",
            SHORT_URL.schema,
            (
                "Короткая ссылка; только если в запросе был `link`.",
                "The short link; only if the request had a `link`.",
            ),
            required=False,
        ),
    ),
    refusals=(*SENT_REFUSALS, Error.RESEND_TOO_SOON, Error.TOO_MANY_ATTEMPTS),
)

VERIFICATION_ID = Field(
    "id",
    identifier("otp"),
    ("Идентификатор проверки.", "The verification's id."),
    "otp_0192f0c1a6d97c1d8e2f3a4b5c6d7e8f",
)
VERIFIED_AT = Field(
    "verified_at",
    time(),
    ("Когда код подошёл, UTC.", "When the code was accepted, UTC."),
    "2026-11-20T10:15:30.482915Z",
)
VERIFICATION = Shape("Verification", (VERIFICATION_ID, UNDERSTOOD_PHONE, VERIFIED_AT))
VERIFY_CODE = Call(
    "POST",
    "/otp/verify",
    "verifyCode",
    ("Проверить код", "Verify a code"),
    (
        "Проверяет код, который ввёл пользователь. Верный код срабатывает один раз.",
        "Checks the code a user typed in. A right code works once.",
    ),
    Scope.OTP,
    page="verify-code",
    message=(VERIFIED["ru"], VERIFIED["en"]),
    body=(
        PHONE,
        Field(
            "code",
            text(pattern="^[0-9]{4,8}$"),
            (
                "Код строкой: у числа пропали бы нули в начале.",
                "The code as a string: a number would lose its leading zeros.",
            ),
            "482915",
        ),
        PURPOSE,
    ),
    answer=VERIFICATION,
    refusals=(
        Error.INVALID_INPUT,
        Error.INVALID_PHONE,
        Error.CODE_INVALID,
        Error.CODE_EXPIRED,
        Error.CODE_USED,
        Error.CODE_NOT_FOUND,
        Error.TOO_MANY_ATTEMPTS,
    ),
)

CALLS = (SEND_CODE, VERIFY_CODE)
