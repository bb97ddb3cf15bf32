"""The cap on wrong codes per phone, and the refusals of a check or a send that it causes."""

from math import ceil
from typing import Any

from django.conf import settings
from django.db import connection

from accounts.api import atomic_limits as counters
from accounts.keys.api_keys import Principal
from channels.accept import send_limits
from config.errors import DomainError, Error, Words
from config.ids import uuid7
from otp import sql

MINUTES_FROM = 120  # a wait of so many seconds or more is written in minutes


def cap_params() -> dict[str, int]:
    """SQL parameters of the cap on wrong codes at one phone, across codes and purposes."""
    (hourly, _), (daily, _) = settings.WRONG_CODE_LIMITS
    return {"failed_hour": hourly, "failed_day": daily}


def check_refusal(
    principal: Principal, phone: str, state: tuple[bool, bool, bool] | None
) -> DomainError:
    """Decided without comparing the code, so the answer is no oracle."""
    is_used, is_expired, is_exhausted = state or (False, False, False)
    if is_exhausted and not is_used and not is_expired:
        return _attempts_exhausted(principal, phone)
    limit, seconds = settings.REFUSED_VERIFY_LIMIT
    phone_key = counters.hashed(phone)
    window = counters.Window(
        f"refused:{principal.company_id}:{principal.mode}:{phone_key}", limit, seconds
    )
    try:
        place = counters.count(window)
    except counters.LimiterDownError:
        place = None  # no code is live here, so an uncounted refusal leaks nothing
    if place is not None and place.verdict > 0:
        return DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=place.wait)
    if is_used:
        return DomainError(Error.CODE_USED)
    return DomainError(Error.CODE_EXPIRED if is_expired else Error.CODE_NOT_FOUND)


def send_refusal(principal: Principal, phone: str) -> DomainError:
    """Refuses a send when the cap would reject even the right new code."""
    wait = max(1, _seconds_until_allowed(principal, phone))
    words = (
        f"Слишком много неверных кодов. Новый можно запросить через {_duration(wait, 'ru')}",
        f"Too many wrong codes. Ask for a new one in {_duration(wait, 'en')}",
    )
    return DomainError(Error.TOO_MANY_ATTEMPTS, message=words, retry_after=wait)


def _attempts_exhausted(principal: Principal, phone: str) -> DomainError:
    """The code is dead; `retry_after` is the wait for a new one."""
    send = send_limits.Send(
        uuid7(), principal.company_id, principal.mode, "code", phone, principal.own_limits
    )
    wait = max(_seconds_until_allowed(principal, phone), send_limits.wait(send))
    return DomainError(
        Error.TOO_MANY_ATTEMPTS, message=_attempts_exhausted_message(wait), retry_after=max(1, wait)
    )


def _attempts_exhausted_message(wait: int) -> Words:
    russian = "Попытки закончились, этот код больше не подойдёт. Запросите новый код"
    english = "No attempts are left: this code no longer works. Ask for a new one"
    if wait == 0:
        return russian, english
    return f"{russian} через {_duration(wait, 'ru')}", f"{english} in {_duration(wait, 'en')}"


def _duration(seconds: int, language: str) -> str:
    second, minute = ("с", "мин") if language == "ru" else ("s", "min")
    return f"{seconds} {second}" if seconds < MINUTES_FROM else f"{ceil(seconds / 60)} {minute}"


def _seconds_until_allowed(principal: Principal, phone: str) -> int:
    """Seconds until the cap lets a new code be sent and judged."""
    params: dict[str, Any] = {
        "company_id": principal.company_id,
        "mode": principal.mode,
        "phone": phone,
        **cap_params(),
    }
    with connection.cursor() as cursor:
        cursor.execute(sql.SECONDS_UNTIL_ALLOWED, params)
        (seconds,) = cursor.fetchone()
    return max(0, ceil(round(float(seconds), 3)))
