"""Countries by part of the world (UN M49), and groups of them that are often chosen together."""

from functools import cache

from babel import Locale

from accounts.people import countries

# By M49 code, under which CLDR has the names. A test compares them with the countries there are.
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
def by_region(language: str) -> list[tuple[str, dict[str, str]]]:
    """Name of the region → names by code, in the order of the alphabet."""
    titles, names = Locale(language).territories, countries.names(language)
    parts = {code: set(members.split()) for code, members in REGIONS.items()}
    return [
        (titles[code], {one: name for one, name in names.items() if one in members})
        for code, members in parts.items()
    ]


def members(group: str) -> list[str]:
    return GROUPS.get(group, "").split()
