"""Validates the names of brands and companies, and names devices by their User-Agent."""

import re
from unicodedata import name

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from parsing.characters import as_seen, is_line
from parsing.hosts import top_level_domains

# A domain is the brand of many companies; a URL path, an account or a phone number is not.
_ADDRESS = re.compile(r"://|@|[^\s\d_][.。．｡][^\W\d_]+[/?#:]|www\.", re.IGNORECASE)
_TELEPHONE = re.compile(r"\d(?:[\W_]*\d){6,}")

_DOTTED = re.compile(r"[\w-][.。．｡]((?:xn--)?[\w-]+)", re.IGNORECASE)
_IP_ADDRESS = re.compile(r"\d+(?:\.\d+){3}")

# First match wins: most browsers also claim to be Chrome and Safari.
BROWSERS = (
    ("YaBrowser/", "Yandex Browser"),
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def is_valid_brand(brand: str) -> bool:
    """Whether the brand is one line of visible characters without a link, account or phone number.

    Recipients trust a brand, since it accompanies a requested code.
    """
    if not is_line(brand):
        return False
    plain = as_seen(brand)
    if any(_mixes_scripts(word) for word in plain.split() if "." in word):
        return False  # it imitates another site
    return not (_ADDRESS.search(plain) or _TELEPHONE.search(plain))


def _mixes_scripts(word: str) -> bool:
    scripts = {name(char, "UNKNOWN").split()[0] for char in word if char.isalpha()}
    return len(scripts) > 1 and "LATIN" in scripts


def validate_company_name(name: str) -> None:
    """Refuses invalid brands and site addresses: e-mails show the name to people who did not ask
    for them.
    """
    if not is_valid_brand(name) or _contains_site_address(name):
        raise ValidationError(
            _(
                "A name is one line without a web address, an e-mail address or a phone "
                "number: “Daisy”, not “daisy.com”."
            ),
            code="company_name",
        )


def cannot_become_a_link(name: str) -> bool:
    """Whether no mail program can turn the name into a link or a phone call."""
    dotted = any(len(end) > 1 for end in _DOTTED.findall(as_seen(name)))
    return is_valid_brand(name) and not dotted


def _contains_site_address(name: str) -> bool:
    plain = as_seen(name)
    ends = (end.lower() for end in _DOTTED.findall(plain))
    is_known = not top_level_domains().isdisjoint(ends)  # mail programs turn those into links
    return is_known or bool(_IP_ADDRESS.search(plain))


def device_name(user_agent: str) -> str:
    """The device's name from a User-Agent: “Firefox, Windows”; empty if browser and system are
    unknown.
    """
    names = (_first_match(BROWSERS, user_agent), _first_match(SYSTEMS, user_agent))
    return ", ".join(filter(None, names))


def _first_match(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for part, name in table if part in text), "")
