"""Countries: names and regions from Unicode CLDR (through Babel), and a guess from a request."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import phonenumbers
from babel import Locale
from babel.core import get_global
from babel.numbers import get_territory_currencies
from django import forms
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation.trans_real import parse_accept_lang_header

from catalogue.languages import page_languages

CODES = frozenset(phonenumbers.SUPPORTED_REGIONS)  # countries that messages can be sent to

# By UN M49 code, which CLDR uses for names. A test compares the regions with all countries.
REGIONS = {
    "150": "AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI"
    " LT LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
    "142": "AE AF AM AZ BD BH BN BT CN CY GE HK ID IL IN IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM"
    " MN MO MV MY NP OM PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE",
    "019": "AG AI AR AW BB BL BM BO BQ BR BS BZ CA CL CO CR CU CW DM DO EC FK GD GF GL GP GT GY HN"
    " HT JM KN KY LC MF MQ MS MX NI PA PE PM PR PY SR SV SX TC TT US UY VC VE VG VI",
    "002": "AC AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW IO KE KM LR LS"
    " LY MA MG ML MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TA TD TG TN TZ UG YT ZA ZM"
    " ZW",
    "009": "AS AU CC CK CX FJ FM GU KI MH MP NC NF NR NU NZ PF PG PW SB TK TO TV VU WF WS",
}
CIS = "cis"
EAEU = "eaeu"
EU = "eu"
GROUPS = {
    CIS: "AM AZ BY KG KZ MD RU TJ TM UZ",
    EAEU: "AM BY KG KZ RU",
    EU: "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK",
}


@cache
def titles(language: str) -> dict[str, str]:
    return {**Locale(language).territories, **page_languages.texts(language)["country_names"]}


@cache
def names(language: str) -> dict[str, str]:
    """Code → name of the countries that messages can be sent to, sorted by name."""
    names = {code: titles(language)[code] for code in CODES if code in titles(language)}
    return dict(sorted(names.items(), key=lambda pair: pair[1].casefold().replace("ё", "е")))


def name(code: str) -> str:
    return names(page_languages.active()).get(code, code)


def currencies(code: str) -> list[str]:
    return list(get_territory_currencies(code))


def guess(request: HttpRequest) -> str:
    """The country from the proxy's header, or from Accept-Language; empty if unknown."""
    header = request.META.get(settings.COUNTRY_HEADER, "") if settings.COUNTRY_HEADER else ""
    if header.upper() in CODES:
        return str(header.upper())
    tags = [tag for tag, _q in parse_accept_lang_header(request.headers.get("accept-language", ""))]
    # The worldwide language comes last: browsers everywhere are installed in it.
    tags.sort(key=lambda tag: tag.partition("-")[0] == page_languages.worldwide())
    return next(filter(None, map(_country_of, tags)), "")


def _country_of(tag: str) -> str:
    """KZ for kk-KZ and kk; empty for English without a region."""
    language, *rest = tag.split("-")
    regions = [part.upper() for part in rest if part.upper() in CODES]
    if regions or language == page_languages.worldwide():
        return regions[0] if regions else ""
    likely = get_global("likely_subtags").get(language, "").rpartition("_")[2]
    return likely if likely in CODES else ""


def choices() -> Iterator[tuple[str, Any]]:
    yield "", _("— choose —")
    yield from names(page_languages.active()).items()


class CountryField(forms.ChoiceField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("label", _("Country"))
        super().__init__(choices=choices, **kwargs)
        self.widget.attrs.setdefault("autocomplete", "country")


@cache
def by_region(language: str) -> list[tuple[str, dict[str, str]]]:
    """Name of the region → names of countries by code, sorted by name."""
    countries = names(language)
    parts = {code: set(members.split()) for code, members in REGIONS.items()}
    return [
        (
            titles(language)[code],
            {code: name for code, name in countries.items() if code in members},
        )
        for code, members in parts.items()
    ]


def members(group: str) -> list[str]:
    return GROUPS.get(group, "").split()
