"""What a person will read, shown while the settings are being filled in."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from accounts.roles import CabinetRequest, can_read_settings, member_required
from otp.rendering import TEXTS, text_of

DIGITS = "12345678"
LONGEST_BRAND = 30


def preview(chosen: Mapping[str, Any], *, company: str) -> dict[str, str]:
    """With what is filled in so far; what makes no sense yet is taken as the usual."""
    length = str(chosen.get("code_length") or "")
    code = DIGITS[: int(length)] if length in {"4", "5", "6", "7", "8"} else DIGITS[:6]
    language = chosen["language"] if chosen.get("language") in TEXTS else "ru"
    brand = (str(chosen.get("brand") or "").strip() or company)[:LONGEST_BRAND]
    return {"text": text_of(code, brand, language, None), "language": language}


@member_required(can_read_settings)
def settings_preview(request: CabinetRequest) -> HttpResponse:
    context = preview(request.GET, company=str(request.company))
    return render(request, "cabinet/message_preview.html", context)
