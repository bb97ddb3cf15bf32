"""A channel is one declaration: complete, listed nowhere else, and enough for a fourth."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from catalogue.channels import BY_NAME, CHANNELS, Channel, join_titles
from channels.models import Message
from channels.providers.base import Content
from channels.providers.vendors import VENDORS
from channels.vendor_accounts.registry import provider_class
from config.local.embedded import temporary
from tests.packages import PACKAGES, ROOT

PRODUCT = (*PACKAGES, *("static", "templates", "tools/simulator"))
NEARBY = 12  # lines: names this close to one another are a list
MAY_LIST = {
    "catalogue/channels.py": "the declaration",
    "tools/simulator/channels.py": "the simulator's own: it shares no code with the product",
    "links/addresses/reserved_names.py": "words that nobody may take as a short name",
    "templates/cabinet/hook_list.html": "a sentence about what becomes of the codes",
    "compat/prelude/fields.py": "Prelude's channels, ours among them",
}
# `whatsapp_cloud` and `/hooks/telegram-bot` are no channels.
VENDOR_WORDS = {word for name, vendor in VENDORS.items() for word in (name, vendor.hook) if word}
VENDOR_WORDS -= BY_NAME.keys()
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "staticfiles", "node_modules", "__pycache__", ".hypothesis", ".*_cache"
)
PAGER = """    Channel(
        name="pager",
        title="Pager",
        code_sent="The code was sent by pager",
        price=7,
        colour="violet",
        summary="codes to a pager",
        contents=frozenset({"code"}),
        patience=Patience(code=45),
    ),
)
BY_NAME = """


def sources() -> Iterator[Path]:
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*")):
            is_ours = not {"vendor", "migrations"} & set(path.parts)
            if path.suffix in {".py", ".html", ".txt", ".css", ".js"} and is_ours:
                yield path


def lists_channels(text: str) -> bool:
    for vendor_word in sorted(VENDOR_WORDS, key=len, reverse=True):
        text = text.replace(vendor_word, "")
    if not mentions_three(text):  # most files: their blocks need no look
        return False
    lines = text.splitlines()
    blocks = ("\n".join(lines[n : n + NEARBY]) for n in range(len(lines)))
    return any(mentions_three(block) for block in blocks)


def mentions_three(text: str) -> bool:
    return sum(mentions(text, name) for name in BY_NAME) >= 3


def mentions(text: str, name: str) -> bool:
    if name == "max":  # Python's and CSS's word as well
        return re.search(r"""["']max["']|\bMAX\b""", text) is not None
    return re.search(rf"(?<![a-z]){name}(?![a-z])", text, re.IGNORECASE) is not None


def test_nothing_but_the_declaration_lists_the_channels() -> None:
    listing = {
        str(path.relative_to(ROOT))
        for path in sources()
        if lists_channels(path.read_text(encoding="utf-8"))
    }

    assert listing == set(MAY_LIST)


@pytest.mark.parametrize("text", ['("whatsapp", "telegram", "sms")', "a_whatsapp\ntelegram\nSMS"])
def test_scan_finds_a_list(text: str) -> None:
    assert lists_channels(text)
    assert not lists_channels(text.replace("telegram", "telegrams"))


@pytest.mark.parametrize("channel", CHANNELS, ids=list(BY_NAME))
def test_channel_declaration_fits_its_readers(channel: Channel) -> None:
    style = (ROOT / "static" / "figures.css").read_text(encoding="utf-8")

    assert len(channel.name) <= (Message._meta.get_field("channel").max_length or 0)
    assert channel.contents <= set(Content)
    assert bool(channel.link_sent) is (Content.LINK in channel.contents)
    assert f".chart-{channel.colour} " in style
    assert channel.name in {provider_class(vendor).channel for vendor in VENDORS.values()}


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("channel", CHANNELS, ids=list(BY_NAME))
def test_documentation_says_what_each_channel_shows(channel: Channel, language: str) -> None:
    articles = ROOT / "api_docs" / "articles" / language
    of_codes = (articles / "texts.md").read_text(encoding="utf-8")
    of_links = (articles / "send-link.md").read_text(encoding="utf-8")

    assert (f"\n{channel.title}\n: " in of_codes) is (Content.CODE in channel.contents)
    assert (f"\n- **{channel.title}**" in of_links) is (Content.LINK in channel.contents)


def test_titles_are_joined_into_a_sentence() -> None:
    with translation.override("ru"):
        assert join_titles(CHANNELS[:3]) == "WhatsApp, Telegram и SMS"
    with translation.override("en"):
        assert join_titles(CHANNELS[:2]) == "WhatsApp and Telegram"


@pytest.mark.slow
def test_fourth_channel_needs_its_declaration(tmp_path: Path) -> None:
    """In a copy of the checkout, `fourth_channel` looks for it in forms, pages, schema, prices."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    declaration = copy / "catalogue" / "channels.py"
    text = declaration.read_text(encoding="utf-8")
    assert text.count(")\nBY_NAME = ") == 1
    declaration.write_text(text.replace(")\nBY_NAME = ", PAGER), encoding="utf-8")

    with temporary(environ={}) as servers:
        done = in_copy(copy, servers.environ(), "tests/catalogue/fourth_channel.py")

    assert done.returncode == 0, done.stdout[-3000:]


def in_copy(copy: Path, stores: dict[str, str], checks: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", checks],
        cwd=copy,
        env=environ | stores,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
