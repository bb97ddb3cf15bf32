"""POST /links/shorten and POST /links/send."""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.api.idempotent_view import IdempotentView
from accounts.api.request_fields import Fields
from accounts.models import Scope
from channels.accept.acceptance import Sender
from channels.models import Message
from channels.web.request_fields import channel_field, locale_field, phone_field
from channels.web.send_view import SendView
from config.channels import BY_NAME
from links.addresses import text_urls
from links.make import create
from links.make.create import LinkSendRequest, SentLink
from links.make.new_link import SLUG_LENGTH_IN_MESSAGES
from links.models import Link
from links.web.request_fields import TEXT_LENGTH, new_link, reusable_link

SHORTENED = _("The link was shortened")


class Shorten(IdempotentView):
    scope = Scope.LINKS

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        fields = Fields(payload)
        link = reusable_link(fields, self.principal)
        fields.check()
        assert link is not None  # noqa: S101 - `check` raises where it is

        def effect() -> dict[str, Any]:
            made = create.shorten(owner=self.principal, link=link)
            return self.body(made, link.seconds_left(made))

        return self.once_atomic(self.idempotency_key(request, payload), effect)

    def body(self, link: Link, seconds_left: int | None) -> dict[str, Any]:
        return {
            "success": True,
            "message": SHORTENED,
            "id": link.public_id,
            "short_url": link.short_url,
            "slug": link.slug,
            "url": link.url,
            "expires_at": link.expires_at,
            "expires_in": seconds_left,
            "reused": link.was_there,
        }


class SendLink(SendView):
    scope = Scope.LINKS
    kind = "link"

    def parse(self, payload: dict[str, Any]) -> LinkSendRequest:
        fields = Fields(payload)
        phone = fields.text("phone", required=True, longest=64)
        channel = channel_field(fields)
        locale = locale_field(fields, self.principal)
        text = fields.text("text", longest=TEXT_LENGTH, multiline=True)
        link = new_link(fields, self.principal, length=SLUG_LENGTH_IN_MESSAGES)
        fields.check()
        assert link is not None  # noqa: S101 - `check` raises where it is
        if text:
            sites = self.principal.link_rules.targets
            text_urls.check(text, target=link.url, allowed=sites)
        return LinkSendRequest(
            phone=phone_field(phone, self.principal),
            locale=locale,
            channel=channel,
            text=text or "",
            link=link,
        )

    def send(self, sender: Sender, order: LinkSendRequest) -> dict[str, Any]:
        return self.body(create.send_link(sender=sender, order=order))

    def repeat(self, message: Message) -> dict[str, Any]:
        return self.body(create.sent_link(message))

    def body(self, sent: SentLink) -> dict[str, Any]:
        body = self.answer(sent.outcome, short_url=sent.short_url)
        return (
            body | {"segments": sent.segments}
            if BY_NAME[sent.outcome.channel].has_segments
            else body
        )
