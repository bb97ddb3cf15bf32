"""The condition on phones of one country, for a filter in SQL."""

from functools import cache

from django.db.models import Q
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata, country_code_for_region

KINDS = (
    "fixed_line",
    "mobile",
    "toll_free",
    "premium_rate",
    "shared_cost",
    "personal_number",
    "voip",
    "pager",
    "uan",
    "voicemail",
)


def phones_of(country: str) -> Q:
    """As `phone_numbers.country_of` sees them: the main country of a calling code has all that
    belong to no other.
    """
    code = country_code_for_region(country)
    regions = COUNTRY_CODE_TO_REGION_CODE.get(code, ())
    if country not in regions:
        return Q(pk__in=[])
    with_code = Q(phone__startswith=f"+{code}")
    if country != regions[0]:
        return with_code & _belongs_to(code, country)
    for other in regions[1:]:
        with_code &= ~_belongs_to(code, other)
    return with_code


@cache
def _belongs_to(code: int, region: str) -> Q:
    metadata = PhoneMetadata.metadata_for_region(region, None)
    if metadata is None:
        return Q(pk__in=[])
    if metadata.leading_digits:
        return Q(phone__regex=rf"^\+{code}(?:{metadata.leading_digits})")
    kinds = (getattr(metadata, kind) for kind in KINDS)
    numbers = [kind.national_number_pattern for kind in kinds if kind]
    patterns = "|".join(number for number in numbers if number)
    return Q(phone__regex=rf"^\+{code}(?:{patterns})$") if patterns else Q(pk__in=[])
