"""Sections of the settings page, filled in and sent as a browser does."""

import re
from typing import Any

from django.test import Client
from django.urls import reverse

COMPANY = {"name": "Demo", "brand": "", "language": "ru", "country": "RU"}
CODES = {"code_length": "6"}
CHANNELS = {"default_channel": ""}
LIMITS: dict[str, str] = {}
VERSION = re.compile(r'name="version" value="(\w+)"')


def version(client: Client, slug: str) -> str:
    """The version of a section as it is on the page now."""
    page = client.get(reverse("settings")).content.decode()
    section = page[page.index(f'<section class="card settings-section" id="{slug}"') :]
    match = VERSION.search(section)
    assert match is not None
    return match[1]


def send(client: Client, slug: str, fields: dict[str, Any], of: str | None = None) -> Any:
    """Sends a section that was opened just now, or at the version `of`."""
    body = {"section": slug, "version": of or version(client, slug), **fields}
    return client.post(reverse("settings"), body)


def form_of(response: Any, slug: str) -> Any:
    sections = response.context["sections"]
    return next(section.form for section in sections if section.slug == slug)
