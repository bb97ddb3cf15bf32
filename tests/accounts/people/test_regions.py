"""Countries by regions."""

import pytest

from accounts.cabinet.country_fields import CountryCodesField
from accounts.people import countries, regions


def test_every_country_is_in_one_region() -> None:
    listed = [code for members in regions.REGIONS.values() for code in members.split()]

    assert sorted(listed) == sorted(countries.CODES)


def test_groups_are_of_known_countries() -> None:
    for group in regions.GROUPS:
        assert set(regions.members(group)) <= countries.CODES
    assert regions.members("pets") == []


def test_names_are_of_the_reader_s_language() -> None:
    (title, names), *_others = regions.by_region("ru")

    assert title == "Европа"
    assert names["DE"] == "Германия"
    assert [title for title, _names in regions.by_region("en")][:2] == ["Europe", "Asia"]


@pytest.mark.parametrize(
    ("typed", "codes"),
    [
        ("", []),
        ("ru, kz kz", ["RU", "KZ"]),
        ("Россия; Саудовская Аравия\nGermany", ["RU", "SA", "DE"]),
        ("РОССИЯ казахстан", ["RU", "KZ"]),
        (" , ,;", []),
    ],
)
def test_list_of_codes_and_names_is_read(typed: str, codes: list[str]) -> None:
    assert CountryCodesField().clean(typed) == codes
