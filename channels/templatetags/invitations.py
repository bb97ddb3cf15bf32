"""The bot's link with its picture, on pages of rooms above and below this one."""

from typing import Any

from django import template

from channels.recipients import bot_invitations

register = template.Library()


@register.simple_tag
def bot_url() -> str:
    """Empty where no bot is set up."""
    return bot_invitations.bot_url()


@register.inclusion_tag("cabinet/bot_invitation.html")
def bot_invitation(url: str = "") -> dict[str, Any]:
    """Nothing where no bot is set up."""
    url = url or bot_invitations.bot_url()
    return {"url": url, "picture": bot_invitations.qr_code(url) if url else ""}
