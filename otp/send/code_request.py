"""A request for a code, and the fields that its message stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings

from channels.providers.base import Content
from channels.routing.company_policy import NO_ORDER, RequestedOrder
from links.make.new_link import NewLink
from otp.protection.requesters import UNKNOWN, Requester
from otp.sealed_codes import content_of
from otp.texts import bindings
from webhooks.endpoints import Callback


@dataclass(frozen=True, slots=True)
class CodeSendRequest:
    """A request for a code, whose fields are checked."""

    phone: str
    purpose: str
    locale: str
    channel: str | None = None
    link: NewLink | None = None
    requester: Requester = UNKNOWN  # who asked the company for the code
    order: RequestedOrder = NO_ORDER
    code_length: int | None = None  # digits
    lifetime: int | None = None  # seconds
    text: str | None = None  # the company's own for this send, with {code}
    binding: Mapping[str, str] | None = None  # of `otp.texts.bindings`
    reference: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    custom_code: str | None = field(default=None, repr=False)  # 4 to 10 letters or digits
    callback: Callback | None = None  # where the events of this message go as well
    door: str = ""  # the other API that the request came by: `Message.source_api`
    is_new: bool = False  # ends the live code, if there is one, instead of repeating it
    # A custom code is sent again after the cool-down, not answered with the earlier message.
    resends_custom_code: bool = False

    @property
    def content(self) -> Content:
        if self.text or self.binding:
            return Content.CODE_WITH_TEXT
        if self.link:
            return Content.CODE_WITH_LINK
        return Content.CODE if self.custom_code is None else content_of(self.custom_code)

    @property
    def may_skip_cool_down(self) -> bool:
        """Whether a channel that has not carried the live code may do so during the cool-down."""
        return not self.is_new and (self.channel is not None or bool(self.order.channels))

    @property
    def effective_lifetime(self) -> int:
        """Seconds that the code lives."""
        return self.lifetime or settings.CODE_LIFETIME

    @property
    def line(self) -> str:
        """The line below the text."""
        return bindings.line(self.binding) if self.binding else ""


# The fields that a message stores, so that the message by the next channel has them again.
STORED_FIELDS = ("text", "metadata", "door", "callback")
