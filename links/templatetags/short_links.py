"""Template tags that show short links on other apps' pages."""

from typing import Any

from django import template

from accounts.models import Member
from accounts.people.phone_visibility import text_for
from channels.models import Message
from links.models import Link

register = template.Library()


@register.inclusion_tag("cabinet/message_link.html")
def message_link(message: Message, member: Member) -> dict[str, Any]:
    """The short link in a message, and how often it was followed."""
    short_url = message.params.get("short_url") or ""
    link_id = message.params.get("link") or message.subject_id
    pages = (
        Link.objects.filter(pk=link_id, message_id=message.pk) if short_url else Link.objects.none()
    )
    text = text_for(short_url, member)
    return {"short_url": short_url, "shown": text, "link": pages.first()}
