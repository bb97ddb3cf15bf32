"""Why a message of a list was not delivered."""

from django import template

from channels.models import Message
from channels.vendor_accounts import error_texts
from config.texts import StrOrPromise

register = template.Library()


@register.filter
def failure_reason(message: Message) -> StrOrPromise:
    return error_texts.api_error_text(message.error)
