"""Previews of a message, updated while the user edits a text or a setting."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.keys.principal import CompanyTexts
from accounts.models import Company
from accounts.people.cabinet_access import CabinetRequest, can_read_settings, member_required
from catalogue.channels import BY_NAME, CHANNELS, Channel
from catalogue.languages import message_languages, page_languages
from channels.providers import gsm
from channels.providers.telegram_gateway.provider import TelegramGateway
from channels.routing.channel_plan import price
from channels.vendor_accounts import registry
from channels.web.fields import DEFAULT_PURPOSE
from links.addresses import short_hosts
from links.make.new_link import SLUG_LENGTH_IN_MESSAGES, short_url
from otp.texts import own_texts, rendering, rules

SAMPLE_DIGITS = "12345678"
MAX_BRAND_LENGTH = 30
SAMPLE_SLUG = "x7Kq2MbdR9"[:SLUG_LENGTH_IN_MESSAGES]
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_VARIABLES = re.compile(r"(\{\w+\})")


def with_variables(body: str) -> SafeString:
    """Marks up the variables of a text as code."""
    parts = enumerate(_VARIABLES.split(body))
    marked = (
        (format_html("<code>{}</code>", part) if index % 2 else part,) for index, part in parts
    )
    return format_html_join("", "{}", marked)


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample message as a phone shows it."""

    channel: Channel
    has_link: bool
    locale: str
    text: str
    is_russian: bool = False  # the text without the brand
    has_app_hash: bool = False
    country: str = ""  # country of the company, to which most of its messages go

    @property
    def channel_title(self) -> str:
        return str(self.channel.title)

    @property
    def has_vendor_text(self) -> bool:
        """Whether the vendor words the code itself, as Telegram Gateway does."""
        return (
            self.channel.name == TelegramGateway.channel
            and not self.has_link
            and registry.codes_go_by_gateway()
        )

    @property
    def price(self) -> int:
        return price(self.channel, "live", self.country)

    @property
    def counted(self) -> gsm.Segments | None:
        return gsm.count_segments(self.text) if self.channel.has_segments else None

    @property
    def room(self) -> int:
        """The number of units that fit into the segments of the text."""
        counted = gsm.count_segments(self.text)
        single, joined = gsm.SIZES_BY_ENCODING[counted.encoding]
        return single if counted.segments == 1 else counted.segments * joined

    @property
    def non_gsm_characters(self) -> list[str]:
        """Characters that force a non-Russian SMS out of the GSM alphabet."""
        if not self.channel.has_segments or self.is_russian:
            return []
        return [rules.describe_character(char) for char in gsm.non_gsm_characters(self.text)[:5]]

    @property
    def segments_in_gsm(self) -> int:
        """Segments of the text if its characters outside the GSM alphabet were replaced."""
        outside = set(gsm.non_gsm_characters(self.text))
        return gsm.count_segments(
            "".join("?" if char in outside else char for char in self.text)
        ).segments

    @property
    def is_too_long_for_app(self) -> bool:
        return self.has_app_hash and self.bytes > rules.ANDROID_MAX_BYTES

    @property
    def bytes(self) -> int:
        """The size encoded or in UTF-8, the larger one: Google does not say which it counts."""
        counted = gsm.count_segments(self.text)
        bits = counted.units * (16 if counted.encoding == "UCS-2" else 7)
        return max(ceil(bits / 8), len(self.text.encode()))


def samples(
    company: Company,
    texts: CompanyTexts,
    *,
    channels: Iterable[Channel],
    locale: str,
    purpose: str,
    body: str | None = None,
) -> list[Sample]:
    """Samples of a code and of a code with a link by channel, in `body` or the current text."""
    previews = []
    for channel, has_link in product(channels, (False, True)):
        language = registry.language_on(channel, locale)
        template = rendering.template(
            texts, channel=channel, locale=language, purpose=purpose, has_link=has_link, body=body
        )
        previews.append(
            Sample(
                channel=channel,
                has_link=has_link,
                locale=language,
                text=rendering.fill(
                    template,
                    code=SAMPLE_DIGITS[: company.code_length],
                    brand=company.brand or company.name[:MAX_BRAND_LENGTH],
                    minutes=None,
                    link=short_url(SAMPLE_SLUG, short_hosts.find(company.link_host)),
                ),
                is_russian=_CYRILLIC.search(template) is not None,
                has_app_hash=channel.has_segments and bool(texts.app_hash),
                country=company.country,
            )
        )
    return previews


def current_samples(company: Company, texts: CompanyTexts) -> list[Sample]:
    """Samples of the SMS that a request with the default purpose sends."""
    return samples(
        company, texts, channels=[BY_NAME["sms"]], locale=company.language, purpose=DEFAULT_PURPOSE
    )


def preview(options: Mapping[str, Any], *, company: Company) -> dict[str, list[Sample]]:
    """Renders unsaved settings as each channel shows them; invalid values count as the defaults."""
    length = str(options.get("code_length") or "")
    language = options.get("language")
    language = language if language in message_languages.codes() else page_languages.active()
    draft = Company(
        name=company.name,
        brand=str(options.get("brand") or "").strip()[:MAX_BRAND_LENGTH],
        code_length=int(length) if length in {"4", "5", "6", "7", "8"} else 6,
    )
    all_samples = samples(
        draft,
        own_texts.of_company(company),
        channels=CHANNELS,
        locale=language,
        purpose=DEFAULT_PURPOSE,
    )
    return {"samples": [sample for sample in all_samples if not sample.has_link]}


@member_required(can_read_settings)
def settings_preview(request: CabinetRequest) -> HttpResponse:
    context = preview(request.GET, company=request.company)
    return render(request, "cabinet/message_preview.html", context)
