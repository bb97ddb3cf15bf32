"""The text of a code's message, as far as its acceptance decides it."""

from typing import Any

from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.channels import BY_NAME, CHANNELS
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.languages import message_languages
from channels.providers import gsm
from channels.routing.channel_plan import ChannelPlan
from links.make.new_link import NewLink
from otp.send.code_request import CodeSendRequest
from otp.texts import rendering

TOO_LONG_FOR_SMS = format_lazy(
    _("As an SMS this takes more than {maximum} parts"), maximum=settings.MAX_SMS_SEGMENTS
)


class CodeText:
    def __init__(
        self, principal: Principal, request: CodeSendRequest, link: NewLink | None
    ) -> None:
        self._principal = principal
        self._request = request
        self._link = link
        # The values that the text depends on, besides the channel.
        self._wording: dict[str, Any] = {
            "locale": message_languages.match(request.locale, principal.language),
            "purpose": request.purpose,
            "has_link": link is not None,
            "body": request.text,
            "line": request.line,
        }

    def with_segments(self, plan: ChannelPlan) -> ChannelPlan:
        """The plan with the segments of its SMS; raises if they are too many."""
        if not plan.has_segments:
            return plan
        principal = self._principal
        request = self._request
        link = self._link
        template = rendering.template(principal.texts, channel=BY_NAME["sms"], **self._wording)
        # With a code and a slug of the length that will be generated.
        text = rendering.fill(
            template,
            code=request.custom_code or "0" * (request.code_length or principal.code_length),
            brand=principal.brand,
            minutes=request.effective_lifetime // 60,
            link=link.sample_url if link else None,
        )
        segments = gsm.count_segments(text).segments
        return plan.within_segment_limit(segments, too_long=self._too_long())

    def templates(self, plan: ChannelPlan) -> dict[str, str]:
        """The templates that the message stores, by channel; with a fallback chain, of all."""
        channels = CHANNELS if plan.chain else (plan.channel,)
        return rendering.snapshot(self._principal.texts, channels=channels, **self._wording)

    def _too_long(self) -> DomainError:
        """The refusal of a text that is too long.

        Without a custom text or a binding, only a long host of short links causes it.
        """
        if self._request.text:
            return invalid_input(text=TOO_LONG_FOR_SMS)
        if self._request.binding:
            return invalid_input(bind=TOO_LONG_FOR_SMS)
        return DomainError(Error.LINK_NOT_SUPPORTED)
