"""POST /links/shorten and POST /links/send."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.api.fields import body_of
from accounts.api.idempotent_view import IdempotentView
from accounts.api.request_fields import RequestFields
from accounts.keys.api_keys import Principal
from channels import phone_numbers
from channels.accept.acceptance import Sender
from channels.models import Message
from channels.routing.company_policy import locale_for
from channels.web.fields import CHANNEL, LOCALE, PHONE
from channels.web.send_view import SendView
from config.channels import of_row
from links.addresses import text_urls
from links.api.calls import SEND_LINK, SHORTEN
from links.api.fields import ADDRESS, TEXT
from links.api.parsing import new_link, reusable_link
from links.make import create
from links.make.create import LinkSendRequest, SentLink
from links.make.new_link import SLUG_LENGTH_IN_MESSAGES
from links.models import Link


class Shorten(IdempotentView):
    calls = (SHORTEN,)

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        link = reusable_link(fields, self.principal)
        fields.check()
        assert link is not None  # noqa: S101 - `check` raises where it is

        def effect() -> dict[str, Any]:
            made = create.shorten(owner=self.principal, link=link)
            return self.body(made, link.seconds_left(made))

        return self.once_atomic(self.idempotency_key(request, payload), effect)

    def body(self, link: Link, seconds_left: int | None) -> dict[str, Any]:
        reused = {"expires_in": seconds_left, "reused": link.was_there}
        return self.success(body_of(link, ADDRESS) | reused)


def parse_link(payload: Mapping[str, Any], principal: Principal) -> LinkSendRequest:
    """The fields of a send; raises a DomainError that names those at fault."""
    fields = RequestFields(payload)
    phone = fields.text(PHONE)
    channel = fields.text(CHANNEL)
    locale = fields.text(LOCALE)
    text = fields.text(TEXT)
    link = new_link(fields, principal, length=SLUG_LENGTH_IN_MESSAGES)
    fields.check()
    assert link is not None  # noqa: S101 - `check` raises where it is
    if text:
        text_urls.check(text, target=link.url, allowed=principal.link_rules.targets)
    number = phone_numbers.normalise(phone or "", principal.country)
    return LinkSendRequest(
        phone=number,
        locale=locale or locale_for(principal, number, ""),
        channel=channel,
        text=text or "",
        link=link,
    )


class SendLink(SendView):
    calls = (SEND_LINK,)
    kind = "link"

    def parse(self, payload: dict[str, Any]) -> LinkSendRequest:
        return parse_link(payload, self.principal)

    def send(self, sender: Sender, order: LinkSendRequest) -> dict[str, Any]:
        return self.body(create.send_link(sender=sender, order=order))

    def repeat(self, message: Message) -> dict[str, Any]:
        return self.body(create.sent_link(message))

    def body(self, sent: SentLink) -> dict[str, Any]:
        body = self.answer(sent.outcome, short_url=sent.short_url)
        return (
            body | {"segments": sent.segments}
            if of_row(sent.outcome.channel).has_segments
            else body
        )
