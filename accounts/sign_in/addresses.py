"""E-mail addresses as people write them: one mailbox has several spellings.

Chrome sends an international domain in ASCII, other browsers as typed. A pasted invisible character
is part of the domain for Django, but not for mail servers.
"""

from functools import reduce
from operator import or_

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator, MaxLengthValidator
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from accounts.models import User
from parsing.hosts import HostError, address_spellings, ascii_host, unicode_host

MAX_LENGTH = 254  # RFC 5321; allauth cuts a longer one, forms of Django take 320
_require_length = MaxLengthValidator(MAX_LENGTH)


def is_same(first: str, other: str) -> bool:
    return first.lower() in map(str.lower, address_spellings(other))


def is_of(address: str) -> Q:
    return reduce(or_, map(_is_spelled, address_spellings(address)))


def _is_spelled(spelling: str) -> Q:
    """The condition that an address equals this spelling in lower case.

    `iexact`, for allauth's index, compares in upper case, where a dotless i equals an i.
    """
    return Q(Exact(Lower("email"), spelling.lower()), email__iexact=spelling)


def is_claimed(address: str) -> bool:
    """Whether an account was created with the address, or somebody has confirmed it. Adding it to
    an account proves nothing, and must not keep its owner out.
    """
    confirmed = EmailAddress.objects.filter(is_of(address), verified=True)
    # Both queries always run: the time must not reveal an account.
    return any([confirmed.exists(), User.objects.filter(is_of(address)).exists()])


@transaction.atomic
def replace_primary(user: User, old: str) -> None:
    """Makes the address that an operator set the user's primary one. It counts as confirmed, since
    the operator vouches for it; the old one no longer opens the account.
    """
    addresses = EmailAddress.objects.filter(user=user)
    addresses.filter(is_of(old) | Q(primary=True)).delete()
    main = {"verified": True, "primary": True}
    EmailAddress.objects.update_or_create(user=user, email=user.email.lower(), defaults=main)


def as_stored(address: str) -> str:
    """The address as its account spells it; a new one in Unicode. Raises ValidationError."""
    _require_length(address)
    if address.isascii() and "xn--" not in address.lower():
        return address
    name, _at, domain = address.rpartition("@")
    try:
        # Django's pattern ignores case, so it accepts a long s for an s.
        read = f"{name.encode('ascii').decode()}@{unicode_host(ascii_host(domain))}"
    except (UnicodeError, HostError):
        raise ValidationError(EmailValidator.message, code=EmailValidator.code) from None
    addresses = User.objects.filter(is_of(address)).values_list("email", flat=True)
    others = EmailAddress.objects.filter(is_of(address)).values_list("email", flat=True)
    return next(iter([*addresses[:1], *others[:1]]), read)
