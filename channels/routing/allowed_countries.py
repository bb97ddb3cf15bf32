"""The countries that a company may send to, by default its own."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from channels.phone_numbers import country_of


def check_country(principal: Principal, phone: str) -> None:
    """Enforces the company's allowed countries; test keys spend no money, so they are exempt."""
    allowed, country = principal.allowed_countries, country_of(phone)
    if allowed and country not in allowed and not principal.is_test:
        name = country or phone[:4]
        raise DomainError(
            Error.COUNTRY_NOT_ALLOWED,
            message=format_lazy(
                _(
                    "Sending to this country ({name}) is not switched on: add it in the cabinet, "
                    "Settings → Allowed countries"
                ),
                name=name,
            ),
            country=country,
        )
