from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from cabinet.forms import GroupedDecimalField, GroupedIntegerField


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize(
    "typed", ["1900", "1 900", " 1\u00a0900 ", "1\u202f900", "1\u2009900", "1,900", "+1,900"]
)
def test_grouped_digits_are_a_whole_number(typed: str, language: str) -> None:
    with translation.override(language):
        assert GroupedIntegerField().clean(typed) == 1900


def test_number_is_shown_in_groups_and_read_back() -> None:
    with translation.override("ru"):
        shown = GroupedIntegerField().prepare_value(1_000_000)

        assert shown == "1\u00a0000\u00a0000"
        assert GroupedIntegerField().clean(shown) == 1_000_000


@pytest.mark.parametrize(
    "typed", ["1,90", "1.900", "1,9000", "19,00", "1,900,0", "1900,5", "много"]
)
def test_possible_fraction_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        GroupedIntegerField().clean(typed)


@pytest.mark.parametrize(
    ("language", "typed", "amount"),
    [
        ("ru", "1 900,50", "1900.50"),
        ("ru", "1\u00a0900,50", "1900.50"),
        ("ru", "1900.50", "1900.50"),
        ("en", "1,900.50", "1900.50"),
        ("en", "1,900", "1900"),
        ("en", "1 900.50", "1900.50"),
    ],
)
def test_amount_is_read_as_the_language_writes_it(language: str, typed: str, amount: str) -> None:
    with translation.override(language):
        assert GroupedDecimalField().clean(typed) == Decimal(amount)


@pytest.mark.parametrize(("language", "typed"), [("ru", "1,900.50"), ("en", "1900,50")])
def test_amount_in_the_other_languages_form_is_refused(language: str, typed: str) -> None:
    with translation.override(language), pytest.raises(ValidationError):
        GroupedDecimalField(decimal_places=2).clean(typed)
