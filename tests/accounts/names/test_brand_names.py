"""A brand in a code message may name a company but contain no link."""

import pytest

from accounts.names import brand_names


@pytest.mark.parametrize(
    "brand",
    [
        "",
        "Ромашка",
        "Kaspi.kz",
        "Кремль.рф",
        "Яндекс Go",
        "ООО «Ромашка-2026»",
        "Аптека 36,6",
        "M&M's",
        "5 звёзд",
    ],
)  # fmt: skip
def test_ordinary_brand_names_are_valid(brand: str) -> None:
    assert brand_names.is_valid(brand)


@pytest.mark.parametrize(
    "brand",
    [
        "evil.example/login",
        "https://evil.example",
        "www.evil.example",
        "evil\ufe0f.example/x",
        "evil․example/x",
        "me@evil.example",
        "8 800 555 35 35",
        "8–800–555–35–35",
        "8_800_555_35_35",
        "аpple.com",
        "gооgle.com Support",
        "first\nsecond",
        "a\u202eb",
    ],
)
def test_brand_names_with_links_or_phones_are_invalid(brand: str) -> None:
    assert not brand_names.is_valid(brand)
