"""Every API error: code, HTTP status, message in two languages, and the response body."""

from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from typing import Any

Words = tuple[str, str]  # Russian, English


class Error(Enum):
    """The public error codes. The value is (HTTP status, Russian, English)."""

    INVALID_API_KEY = (401, "Недействительный API-ключ", "Invalid API key")
    INSUFFICIENT_TOKENS = (402, "Недостаточно токенов", "Недостаточно токенов")
    FORBIDDEN = (403, "Этому ключу это не разрешено", "This key is not allowed to do that")
    HTTPS_REQUIRED = (
        403,
        "Запросы принимаются только по HTTPS; ключ, отправленный без него, замените",
        "Requests are accepted over HTTPS only; replace a key that was sent without it",
    )
    NOT_FOUND = (404, "Не найдено", "Not found")
    METHOD_NOT_ALLOWED = (405, "Метод не поддерживается", "Method not allowed")
    REQUEST_TIMEOUT = (
        408,
        "Тело запроса передавалось слишком долго",
        "The request body took too long to arrive",
    )
    REQUEST_IN_PROGRESS = (
        409,
        "Запрос с этим Idempotency-Key ещё выполняется",
        "A request with this Idempotency-Key is still running",
    )
    UNSUPPORTED_MEDIA_TYPE = (
        415,
        "Отправьте тело в формате application/json",
        "Send the body as application/json",
    )
    INVALID_INPUT = (422, "Проверьте поля запроса", "Check the request fields")
    INVALID_PHONE = (422, "Неверный номер телефона", "Invalid phone number")
    COUNTRY_NOT_ALLOWED = (
        422,
        "Отправка в эту страну не разрешена",
        "Sending to this country is not allowed",
    )
    RECIPIENT_UNREACHABLE = (
        422,
        "Получатель недоступен в этом канале",
        "The recipient cannot be reached by this channel",
    )
    CHANNEL_UNAVAILABLE = (422, "Канал сейчас недоступен", "The channel is not available now")
    LINK_NOT_SUPPORTED = (
        422,
        "Этот канал не может передать ссылку",
        "This channel cannot carry a link",
    )
    URL_NOT_ALLOWED = (422, "Такую ссылку сократить нельзя", "This URL cannot be shortened")
    ALIAS_TAKEN = (422, "Это имя ссылки уже занято", "This alias is already taken")
    IDEMPOTENCY_MISMATCH = (
        422,
        "Этот Idempotency-Key уже использован с другим запросом",
        "This Idempotency-Key was used with a different request",
    )
    CODE_INVALID = (422, "Неверный код", "Wrong code")
    CODE_EXPIRED = (422, "Срок действия кода истёк", "The code has expired")
    CODE_USED = (422, "Код уже использован", "The code has already been used")
    CODE_NOT_FOUND = (
        422,
        "Для этого номера нет отправленного кода",
        "No code was sent to this number",
    )
    RESEND_TOO_SOON = (
        429,
        "Код уже отправлен, повторить можно чуть позже",
        "A code was just sent; try again a little later",
    )
    SEND_LIMIT = (
        429,
        "Превышен лимит отправок на этот номер",
        "The sending limit for this number is reached",
    )
    TOO_MANY_ATTEMPTS = (
        429,
        "Слишком много попыток, запросите новый код позже",
        "Too many attempts; ask for a new code later",
    )
    RATE_LIMITED = (429, "Слишком много запросов", "Too many requests")
    INTERNAL_ERROR = (500, "Внутренняя ошибка сервиса", "Internal server error")
    DELIVERY_FAILED = (502, "Не удалось доставить сообщение", "The message could not be delivered")
    UNAVAILABLE = (
        503,
        "Сервис временно недоступен, повторите запрос",
        "The service is temporarily unavailable; try again",
    )

    @property
    def code(self) -> str:
        return self.name.lower()

    @property
    def status(self) -> HTTPStatus:
        return HTTPStatus(self.value[0])

    def words(self, language: str) -> str:
        _status, russian, english = self.value
        return english if language == "en" else russian


class DomainError(Exception):
    """An error of the API. `extra` is added to the response body."""

    def __init__(
        self,
        error: Error,
        *,
        message: Words | None = None,
        errors: Mapping[str, list[Words]] | None = None,
        retry_after: int | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(error.code)
        self.error = error
        self.message = message
        self.errors = errors
        self.retry_after = retry_after
        self.extra = extra

    def body(self, *, language: str, request_id: str) -> dict[str, Any]:
        index = 1 if language == "en" else 0
        text = self.message[index] if self.message else self.error.words(language)
        body = {"success": False, "code": self.error.code, "message": text, **self.extra}
        if self.errors:
            body["errors"] = {
                field: [words[index] for words in several] for field, several in self.errors.items()
            }
        if self.retry_after is not None:
            body["retry_after"] = self.retry_after
        return body | {"request_id": request_id}


class AfterEffectError(DomainError):
    """An error after a side effect: stored as the response to a repeated call."""


def invalid_input(**errors: Words) -> DomainError:
    """A 422 that names the invalid fields."""
    return DomainError(Error.INVALID_INPUT, errors={name: [text] for name, text in errors.items()})
