"""Numbers from before a country's renumbering, and as they are dialled at home."""

import pytest

from channels.phone_numbers import e164_or_none, normalise, spellings
from parsing import renumbering

RENUMBERED = [
    ("+52 1 55 1234 5678", "+525512345678"),  # Mexico
    ("+52 01 55 1234 5678", "+525512345678"),
    ("+52 044 55 1234 5678", "+525512345678"),
    ("5215512345678", "+525512345678"),
    ("+55 11 8765-4321", "+5511987654321"),  # Brazil
    ("+55 47 9876-5432", "+5547998765432"),
    ("+55 11 7123-4567", "+5511971234567"),
    ("+54 11 2345-6789", "+5491123456789"),  # Argentina
    ("+54 9 11 2345-6789", "+5491123456789"),
    ("+54 11 15 2345-6789", "+5491123456789"),
    ("+54 (011) 15 2345-6789", "+5491123456789"),
    ("+54 9 11 15 2345-6789", "+5491123456789"),
    ("+84 168 123 4567", "+84381234567"),  # Vietnam
    ("+84 120 123 4567", "+84701234567"),
    ("+84 199 123 4567", "+84591234567"),
    ("+225 07 12 34 56", "+2250707123456"),  # Ivory Coast
    ("+225 45 12 34 56", "+2250545123456"),
    ("+225 71 12 34 56", "+2250171123456"),
    ("+229 97 12 34 56", "+2290197123456"),  # Benin
    ("+237 7512 3456", "+237675123456"),  # Cameroon
    ("+237 9912 3456", "+237699123456"),
    ("+57 1 234 5678", "+576012345678"),  # Colombia
    ("+593 9 912 3456", "+593999123456"),  # Ecuador
    ("+241 06 12 34 56", "+24166123456"),  # Gabon
    ("+241 7 12 34 56", "+24177123456"),
    ("+39 0347 123 4567", "+393471234567"),  # Italy
    ("+39 (0)347 123 4567", "+393471234567"),
    ("+39 6 1234 5678", "+390612345678"),
    ("+39 30 123 4567", "+390301234567"),
    ("+34 0612 34 56 78", "+34612345678"),  # no national prefix
]


@pytest.mark.parametrize(("old", "new"), RENUMBERED)
def test_old_spelling_is_the_same_person(old: str, new: str) -> None:
    assert normalise(old, "RU") == normalise(new, "RU") == new


@pytest.mark.parametrize(
    ("typed", "country", "number"),
    [
        ("044 55 1234 5678", "MX", "+525512345678"),
        ("55 1234 5678", "MX", "+525512345678"),
        ("(11) 8765-4321", "BR", "+5511987654321"),
        ("0 15 11 98765-4321", "BR", "+5511987654321"),
        ("011 15 2345-6789", "AR", "+5491123456789"),
        ("11 2345-6789", "AR", "+5491123456789"),
        ("0168 123 4567", "VN", "+84381234567"),
        ("97 12 34 56", "BJ", "+2290197123456"),
        ("06 12 34 56", "GA", "+24166123456"),
        ("011 44 7400 123456", "US", "+447400123456"),
        ("8~10 44 7400 123456", "RU", "+447400123456"),
        ("0011 44 7400 123456", "AU", "+447400123456"),
        ("٠٥٠ ١٢٣ ٤٥٦٧", "SA", "+966501234567"),
    ],
)
def test_nationally_dialled_number_is_read(typed: str, country: str, number: str) -> None:
    assert normalise(typed, country) == number


@pytest.mark.parametrize(
    "phone",
    [
        "+551177654321",  # once Nextel's: no old spelling of a number
        "+551132654321",  # a fixed line has eight digits
        "+551157654321",
        "+22527201234",  # the operator decided what a fixed line became
        "+23722123456",  # of a fixed line; in some towns more changed than a digit
        "+573001234567",
        "+59322345678",
        "+525512345678",
        "+5511987654321",
        "+390612345678",
        "+393071234567",  # of a mobile range to come, rather than a fixed line in Brescia
    ],
)
def test_other_numbers_stay_as_they_are(phone: str) -> None:
    understood = e164_or_none(phone, "RU")

    assert understood in {phone, None}
    assert renumbering.new_spelling(phone) is None


def test_stored_old_spellings_lead_to_their_number() -> None:
    for number in {new for _old, new in RENUMBERED}:
        for spelling in spellings(number):
            assert normalise(spelling, "RU") == number
    assert spellings("+5511987654321") == ("+5511987654321", "+551187654321")
    assert spellings("+79161234567") == ("+79161234567",)
