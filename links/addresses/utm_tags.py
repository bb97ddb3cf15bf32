"""UTM marks: what is added to a link's target, so that its owner's own counters know the visit."""

from urllib.parse import parse_qsl, unquote_plus

from links.addresses.utm_settings import CHANNEL_PLACEHOLDER


def add_tags(url: str, utm: str, channel: str) -> str:
    """The target with the marks that it does not have already, before its fragment."""
    if not utm:
        return url
    address, hash_, fragment = url.partition("#")
    base, _, query = address.partition("?")
    own = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    marks = [
        mark
        for mark in utm.replace(CHANNEL_PLACEHOLDER, channel).split("&")
        if _name(mark) not in own
    ]
    wanted = "&".join(filter(None, [query.rstrip("&"), *marks]))
    return f"{base}?{wanted}{hash_}{fragment}" if any(marks) else url


def _name(mark: str) -> str:
    return unquote_plus(mark.partition("=")[0])
