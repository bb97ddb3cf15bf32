"""Tags and filters for messages and policies, and the links of our bots."""

from collections.abc import Iterable

from django import template

from accounts.people import countries
from api.body_admission import source_apis
from catalogue.channels import BY_NAME, Channel
from catalogue.texts import StrOrPromise
from channels.models import Message
from channels.recipients import contacts
from channels.routing.stored_rules import StoredRule
from channels.vendor_accounts import error_texts

register = template.Library()


@register.filter
def country_name(code: str) -> str:
    return countries.name(code)


@register.filter
def in_turn(channels: Iterable[str | Channel]) -> str:
    """Joins channels as «one → another»."""
    return " → ".join(_titles(channels))


@register.filter
def listed(channels: Iterable[str | Channel]) -> str:
    """Joins names as «one, another»."""
    return ", ".join(_titles(channels))


@register.filter
def patience_by_channel(rule: StoredRule) -> list[tuple[str, int]]:
    return [(str(BY_NAME[name].title), seconds) for name, seconds in (rule.patience or {}).items()]


def _titles(channels: Iterable[str | Channel]) -> list[str]:
    return [str((BY_NAME[item] if isinstance(item, str) else item).title) for item in channels]


@register.simple_tag
def bot_invitations() -> list[contacts.BotInvitation]:
    """Invitations to the bots; empty without configured bots."""
    return contacts.invitations()


@register.filter
def source_title(message: Message) -> StrOrPromise:
    return source_apis.get(message.source_api, message.source_api)


@register.filter
def failure_reason(message: Message) -> StrOrPromise:
    return error_texts.api_error_text(message.error)
