"""Tags for pages about keys of other services' clients."""

from typing import Any

from django import template

from accounts.models import ApiKey
from compat.client_lines import lines_for

register = template.Library()


@register.inclusion_tag("cabinet/client_lines_of_key.html")
def client_lines(key: ApiKey, plaintext: str = "") -> dict[str, Any]:
    return {"lines": lines_for(key, plaintext)}
