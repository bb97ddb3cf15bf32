"""The language of a response, from the request's Accept-Language header (RFC 9110, 12.5.4)."""

from django.conf import settings

from catalogue.languages import page_languages
from parsing.remembered import remembered


@remembered(1000)
def preferred(header: str, default: str = "") -> str:
    """The language that an Accept-Language header prefers, else `default`, else the service's."""
    best, best_quality = default or settings.LANGUAGE_CODE, 0.0
    for item in header.lower().split(","):
        tag, _, parameter = item.partition(";")
        name = tag.strip().partition("-")[0]
        try:
            quality = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            quality = 0.0
        if name in page_languages.codes() and quality > best_quality:
            best, best_quality = name, quality
    return best
