"""Plain mobile numbers are what the library says they are; others are left to it."""

import random
from collections.abc import Iterator
from unittest.mock import patch

import phonenumbers
import pytest
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneNumberType

from catalogue.errors import DomainError
from channels import phone_numbers
from parsing import plain_numbers

ROUNDS = 20
REGIONS = [
    (code, region) for code, regions in COUNTRY_CODE_TO_REGION_CODE.items() for region in regions
]


def by_the_library(phone: str) -> tuple[str, str]:
    """E.164 and country; an error's name where the number is refused."""
    with patch.object(plain_numbers, "region_of", return_value=None):
        try:
            e164 = phone_numbers.normalise.__wrapped__(phone, "RU")
        except DomainError as error:
            return error.error.code, ""
        return e164, phone_numbers.country_of.__wrapped__(e164)


def numbers(code: int, region: str) -> Iterator[str]:
    """Mobile numbers and what looks like them: other endings, a digit more or less."""
    example = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
    digits = phonenumbers.national_significant_number(example) if example else "123456789"
    chance = random.Random(f"{code} {region}")  # noqa: S311 - the same each time
    for _ in range(ROUNDS):
        kept = digits[: chance.randint(0, len(digits))]
        rest = len(digits) - len(kept) + chance.choice((-1, 0, 0, 0, 1))
        yield f"+{code}{kept}" + "".join(chance.choice("0123456789") for _ in range(rest))


def test_plain_numbers_are_as_the_library_says() -> None:
    asked = [number for code, region in REGIONS for number in numbers(code, region)]
    plain = {number: region for number in asked if (region := plain_numbers.region_of(number))}

    assert {number: by_the_library(number) for number in plain} == {
        number: (number, region) for number, region in plain.items()
    }
    assert len(plain) > len(asked) / 3, "it is the usual case"
    assert len(set(plain.values())) > 200


@pytest.mark.parametrize(
    "phone",
    [
        "+7 916 123-45-67",
        "+7916123456",
        "+79161234567\n",
        "+74951234567",  # a fixed line
        "+78091234567",  # premium
        "+870773111632",  # satellite
        "",
    ],
)
def test_unlisted_number_is_left_to_library(phone: str) -> None:
    assert plain_numbers.region_of(phone) is None
