"""UTM tags: added to a link's target, so that the owner's analytics recognise the visit."""

from urllib.parse import parse_qsl, unquote_plus

from links.addresses.utm_settings import CHANNEL_PLACEHOLDER


def add_tags(url: str, utm: str, channel: str) -> str:
    """Adds the tags that the target lacks, before its fragment."""
    if not utm:
        return url
    address, hash_, fragment = url.partition("#")
    base, _, query = address.partition("?")
    own = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    tags = [
        tag for tag in utm.replace(CHANNEL_PLACEHOLDER, channel).split("&") if _name(tag) not in own
    ]
    wanted = "&".join(filter(None, [query.rstrip("&"), *tags]))
    return f"{base}?{wanted}{hash_}{fragment}" if any(tags) else url


def _name(tag: str) -> str:
    return unquote_plus(tag.partition("=")[0])
