"""The lifetime of a link: the bounds of `expires_in` and `link_expires_in`, and their fields."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from api.calls import (
    Field,
    boolean,
    choice,
    integer,
    moment,
    nullable,
    option,
)

# In seconds.
MINUTE = 60
MONTH = 2_592_000
FIVE_YEARS = 157_680_000
UNTIL_NAMES = choice(["code"], "LinkUntil")
LINK_LIFETIME = option(
    "expires_in",
    integer(MINUTE, FIVE_YEARS),
    _(
        "The number of seconds until the link expires. By default the company's setting; "
        "without one the link never expires."
    ),
)
EXPIRES_AT = moment("expires_at", _("When the link expires; `null` if it never expires."))
EXPIRES_IN = Field(
    "expires_in",
    nullable(integer()),
    _("The number of seconds until the link expires; `null` if it never expires."),
)
LINK_UNTIL = option(
    "link_until",
    UNTIL_NAMES,
    _("`code`: the link stops working when the code is entered, replaced or expires."),
)
LINK_FOR_CODE_LIFETIME = option(
    "link_expires_in", integer(MINUTE, MONTH), _("The number of seconds until that link expires.")
)
NEVER_EXPIRES = option(
    "never_expires",
    boolean(),
    _("`true`: the link never expires. Cannot be combined with `expires_in`."),
)
NEW_LIFETIME = replace(
    LINK_LIFETIME,
    description=_(
        "The number of seconds from now until the link expires; an expired link becomes "
        "active again."
    ),
)
