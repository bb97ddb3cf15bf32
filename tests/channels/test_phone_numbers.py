"""Phone numbers: every spelling of one number normalises to the same."""

import phonenumbers
import pytest
from hypothesis import assume, given, reject, settings, strategies
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from catalogue.errors import DomainError, Error
from channels.phone_numbers import (
    NOT_A_PHONE,
    SATELLITE_OR_PREMIUM,
    country_of,
    e164_or_none,
    is_landline,
    normalise,
    with_country_code_seven,
)
from parsing import clipboard, renumbering

SPELLINGS = [
    "+79161234567",
    "89161234567",
    "0079161234567",
    "+7 (916) 123-45-67",
    "8 (916) 123-45-67",
    "+7 (8) 916 123-45-67",
    "  +79161234567 ",
    "+7\u00a0916\u00a0123\u00a045\u00a067",
    "+7 916 123\u201145\u201167",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("country", ["RU", "KZ"])
def test_all_spellings_normalise_to_one_number(spelling: str, country: str) -> None:
    assert normalise(spelling, country) == "+79161234567"


@pytest.mark.parametrize(
    ("phone", "country", "normal"),
    [
        # The number of a spreadsheet, without its fraction.
        ("79161234567.0", "RU", "+79161234567"),
        ("491601234567.0", "DE", "+491601234567"),  # with the 0 it would be another one's
        ("+491601234567.00", "RU", "+491601234567"),
        ("7911123456.0", "GB", "+447911123456"),
        ("0301234567.0", "DE", "+49301234567"),
        ("030.123.456.0", "DE", "+49301234560"),  # a separate group
        ("8.916.123.45.60", "RU", "+79161234560"),
        # Numbers of many countries.
        ("+77012345678", "RU", "+77012345678"),
        ("87012345678", "RU", "+77012345678"),
        ("88001234567", "RU", "+78001234567"),
        ("+44 (0)20 7946 0958", "RU", "+442079460958"),
        ("+39 06 1234 5678", "RU", "+390612345678"),
        ("+1 (202) 555-0123", "RU", "+12025550123"),
        ("+70001234567", "RU", "+70001234567"),  # possible, if no plan knows it
        ("4930901820", "RU", "+4930901820"),  # valid as an international number
        ("15551234567", "RU", "+15551234567"),  # possible, and long enough to be international
        # An 8 is 7 at home, or where it can be nothing else.
        ("84912345678", "RU", "+74912345678"),
        ("84912345678", "VN", "+84912345678"),
        ("+84912345678", "RU", "+84912345678"),
        ("0084912345678", "KZ", "+84912345678"),
        ("8 916 123 45 67", "KZ", "+79161234567"),
        ("+8 (916) 123-45-67", "RU", "+79161234567"),  # no country's code is 89
        ("+89161234567", "DE", "+79161234567"),
        # Digits without a plus are international first, then national.
        ("919161234567", "RU", "+919161234567"),
        ("+9161234567", "RU", "+9161234567"),  # with a plus, possible is enough
        ("9161234567", "IN", "+919161234567"),
        ("80291234567", "BY", "+375291234567"),
        ("901234567", "UZ", "+998901234567"),
        ("998901234567", "KZ", "+998901234567"),
    ],
)
def test_number_is_read_by_the_rules_of_its_country(phone: str, country: str, normal: str) -> None:
    assert normalise(phone, country) == normal


@pytest.mark.parametrize("country", ["RU", "KZ"])
def test_ten_digits_that_begin_with_nine_are_russian_mobiles(country: str) -> None:
    for prefix in range(900, 1000):
        assert normalise(f"{prefix}1234567", country) == f"+7{prefix}1234567"
        assert normalise(f"({prefix}) 123-45-67", country) == f"+7{prefix}1234567"


@pytest.mark.parametrize("prefix", ["700", "701", "705", "707", "708", "747", "771", "775", "778"])
def test_ten_digits_of_a_mobile_are_read_as_kazakh(prefix: str) -> None:
    assert normalise(f"{prefix}1234567", "KZ") == f"+7{prefix}1234567"


COSTLY = [
    "+870773111632",  # Inmarsat
    "+881612345678",  # Iridium
    "+883510012345",
    "+979123456789",
    "+78091234567",
    "+19005551234",
    "+449098790123",
]


@pytest.mark.parametrize(
    ("phone", "country", "text"),
    [
        *(("9161234567", country, NOT_A_PHONE) for country in ("US", "")),
        *((phone, "RU", NOT_A_PHONE) for phone in ("916123456", "1234567890", "5551234567")),
        *(("89161234567", country, NOT_A_PHONE) for country in ("BY", "UA", "US", "")),
        ("09161234567", "RU", NOT_A_PHONE),
        *((phone, "RU", SATELLITE_OR_PREMIUM) for phone in COSTLY),
    ],
)
def test_ambiguous_and_costly_numbers_are_refused(phone: str, country: str, text: str) -> None:
    with pytest.raises(DomainError) as refused:
        normalise(phone, country)

    assert refused.value.error is Error.INVALID_PHONE
    assert refused.value.errors == {"phone": [text]}


@pytest.mark.parametrize(
    "phone",
    [
        "",
        " ",
        "+",
        "0",
        "123456",
        "+7",
        "+7916",
        "+791612345678",
        "+7916123456",
        "phone",
        "+7916123456a",
        "++79161234567",
        "+7+9161234567",
        "ext. 5",
        "tel:",
        "tel:;ext=5",
        "+79161234567,+79161234568",
        "+79161234567 / +79161234568",
        "+79161234567 ext. 12345678",
        "+7916123456½",
        "tel:+79161234567x",
        "+7916\n1234567",
        "+7916\x001234567",
        "+9991234567",
        "'+79161234567' '+79161234568'",
        "тел. один",
        "tel. tel. +79161234567",
        "+7916\u20281234567",
        "+4930•••••67",
        "+49301234567890123",
        "0" * 40,
        "1" * 41,
        "()-.()-.",
        "+7_916_1234567",
    ],
)
def test_invalid_phone_is_refused(phone: str) -> None:
    with pytest.raises(DomainError) as refused:
        normalise(phone, "RU")

    assert refused.value.error is Error.INVALID_PHONE
    assert refused.value.errors is not None
    assert list(refused.value.errors) == ["phone"]


@pytest.mark.parametrize("around", [" ", "\u2003", "\u200b"])
def test_text_too_long_to_be_typed_is_not_a_phone(around: str) -> None:
    """Looking for its extension takes the square of its length, and the cache would keep it."""
    phone = "+79161234567"
    padding = around * (clipboard.MAX_LENGTH - len(phone))

    assert normalise(f"{padding}{phone}", "RU") == phone
    with pytest.raises(DomainError):
        normalise(f"{padding}{around}{phone}", "RU")


@pytest.mark.parametrize(
    ("phone", "country"),
    [
        ("+79161234567", "RU"),
        ("+77012345678", "KZ"),
        ("+12025550123", "US"),
        ("+70001234567", "RU"),
        ("+80012345678", ""),  # of no country: the library says 001
        ("+88812345678901", ""),
    ],
)
def test_country_is_found_by_the_number(phone: str, country: str) -> None:
    assert country_of(phone) == country


@pytest.mark.parametrize(
    "text",
    [
        "\u202a+7 916 123‑45–67\u202c",
        "\ufeff+7\u202f916\u2009123\u00ad4567\u200b",
        "+7−916—123―45‐67",
        "+7\ufe0f9161234567",
        "8 916 123-45-67\t\r\n",
        "＋７（９１６）１２３－４５－６７",
        "７９１６１２３４５６７",
        "+٧٩١٦١٢٣٤٥٦٧",
        "۷۹۱۶۱۲۳۴۵۶۷",
        "+७९१६१२३४५६७",
        "(+7) 916 123-45-67",
        "[+7] 916/123/45/67",
        "tel:+79161234567",
        "TEL:+7-916-123-45-67;ext=5",
        "tel:%2B79161234567",
        "sms:+79161234567",
        "tel:9161234567;phone-context=+7",
        "tel:+79161234567;isub=1;phone-context=example.com",
        "tel://+79161234567",
        "whatsapp:+79161234567",
        "+79161234567;ext=5",
        "+79161234567 ext. 5",
        "8 (916) 123-45-67 доб. 123",
        "+7 916 123-45-67, extension: 7",
        "+79161234567x12",
        "+7\u3164916\u2800123\ufffc4567",
        "+7\t916\t1234567",
        "+7 916\u02d7123\u204345\u279667",
        "+7\u2219916\u2219123\u22c545\u202767",
        "8\u30fb916\u30fb1234567",
        "'+79161234567",
        "«+79161234567»",
        '"8 916 123-45-67",',
        "<+79161234567>;",
        "тел.: +7 916 123-45-67",
        "Тел. 8 (916) 123-45-67",
        "Tel: +79161234567",
        "моб.:+79161234567",
        "+7 916 1234567 #12",
        "+007 916 1234567",
        "+011 7 916 1234567",
        "00 7 916 1234567",
    ],
)
def test_pasted_number_is_the_number(text: str) -> None:
    assert normalise(text, "RU") == "+79161234567"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+7+79161234567", "+79161234567"),
        ("+7 +7 916 123-45-67", "+79161234567"),
        ("+7 7 916 123-45-67", "+79161234567"),
        ("+7 (+7) 916 123-45-67", None),
        ("+44+447418084106", "+447418084106"),
        ("+49 4915112345678", "+494915112345678"),  # of Leer, whose code is 491
        ("+91 91 98765 43210", "+919876543210"),
        ("+380 380 67 1234567", "+380671234567"),
        ("+7+447418084106", None),  # either may be the mistake
        ("+7 701 123 45 67", "+77011234567"),
        ("+55 55 99123 4567", "+5555991234567"),
        ("+49 491 1234567", "+494911234567"),
        ("+7+7+79161234567", None),
    ],
)
def test_country_code_that_a_form_adds_to_another_is_left_out(
    text: str, number: str | None
) -> None:
    assert e164_or_none(text, "RU") == number


EXAMPLES = [
    number
    for region in sorted(phonenumbers.SUPPORTED_REGIONS)
    for kind in PhoneNumberType.values()
    if (number := phonenumbers.example_number_for_type(region, kind))
]


def test_landlines_are_those_that_are_certainly_no_mobiles() -> None:
    landlines = set()
    for number in EXAMPLES:
        written = phonenumbers.format_number(number, PhoneNumberFormat.E164)
        e164 = e164_or_none(written, "RU")
        kind = phonenumbers.number_type(phonenumbers.parse(e164)) if e164 else None
        if e164 and is_landline(e164):
            assert kind == PhoneNumberType.FIXED_LINE, written
            landlines.add(country_of(e164))

    assert {"RU", "KZ", "BR", "IT", "DE", "GB", "BY", "UA"} <= landlines
    assert len(landlines) > 180
    # Mobiles have the same ranges as fixed lines there.
    assert landlines.isdisjoint({"US", "CA", "MX", "AR"})


def test_every_example_number_is_parsed_in_any_spelling() -> None:
    for number in EXAMPLES:
        written = phonenumbers.format_number(number, PhoneNumberFormat.E164)
        understood = e164_or_none(written, "RU")
        if understood is None:
            continue
        pasted = "\u202a+" + "\u2009".join(chr(ord(digit) + 0xFEE0) for digit in written[1:])
        assert normalise(pasted, "RU") == understood
        assert normalise(f"{written};ext=12", "RU") == understood
        assert normalise(understood, "US") == understood


REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


@strategies.composite
def numbers(draw: strategies.DrawFn) -> phonenumbers.PhoneNumber:
    """Valid numbers of every country, none of them costly."""
    region = draw(strategies.sampled_from(REGIONS))
    example = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
    if example is None:
        reject()
    last = draw(strategies.integers(0, 9999))
    text = f"{phonenumbers.format_number(example, PhoneNumberFormat.E164)[:-4]}{last:04d}"
    number = phonenumbers.parse(text)
    assume(phonenumbers.is_valid_number(number))
    assume(phonenumbers.number_type(number) == PhoneNumberType.MOBILE)
    return number


@settings(max_examples=300, deadline=None)
@given(
    number=numbers(),
    country=strategies.sampled_from(["RU", "KZ", "BY", "US"]),
    separator=strategies.sampled_from(
        ["", " ", "-", ".", "  ", "/", *"\u00ad\u2007\u2011\u202f\u2060\u3000−"]
    ),
)
def test_every_spelling_of_a_number_is_the_same_number(
    number: phonenumbers.PhoneNumber, country: str, separator: str
) -> None:
    normal = phonenumbers.format_number(number, PhoneNumberFormat.E164)
    digits = normal[1:]
    spellings = [
        normal,
        "00" + digits,
        "+" + separator.join(digits),
        phonenumbers.format_number(number, PhoneNumberFormat.INTERNATIONAL),
        phonenumbers.format_number(number, PhoneNumberFormat.RFC3966),
    ]
    if with_country_code_seven(digits, country) in {None, digits}:  # not read as a number at home
        spellings.append(digits)

    understood = {normalise(spelling, country) for spelling in spellings}

    assert understood == {renumbering.new_spelling(normal) or normal}


@settings(max_examples=500, deadline=None)
@given(text=strategies.text(alphabet="+0123456789 ().-", max_size=24))
def test_normalised_phone_normalises_to_itself(text: str) -> None:
    try:
        normal = normalise(text, "RU")
    except DomainError:
        return

    assert normal.isascii()
    assert normal[0] == "+"
    assert normal[1:].isdigit()
    assert 7 <= len(normal) <= 16
    assert normalise(normal, "RU") == normalise(normal, "US") == normal
