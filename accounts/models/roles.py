"""The rights of members by role, and of the keys that they make."""

from django.db import models
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    OWNER = "owner", _("owner")
    DEVELOPER = "developer", _("developer")
    ACCOUNTANT = "accountant", _("accountant")
    VIEWER = "viewer", _("viewer")


TECHNICAL_ROLES = (Role.OWNER, Role.DEVELOPER)
MONEY_READERS = frozenset({Role.OWNER, Role.ACCOUNTANT, Role.VIEWER})
MONEY_MANAGERS = frozenset({Role.OWNER, Role.ACCOUNTANT})


class RoleRights(models.Model):
    role: "models.CharField[str | int | Combinable, str]"

    class Meta:
        abstract = True

    @property
    def can_manage_members(self) -> bool:
        return self.role == Role.OWNER

    @property
    def can_read_technical_pages(self) -> bool:
        """Whether the member reads settings, requests and webhooks; accountants do not."""
        return self.role != Role.ACCOUNTANT

    @property
    def can_manage_keys(self) -> bool:
        return self.role in TECHNICAL_ROLES

    @property
    def can_see_phones(self) -> bool:
        """Whether the member sees whole phones.

        Viewers and accountants see masked ones, so that they cannot copy a list of customers.
        """
        return self.role in TECHNICAL_ROLES

    @property
    def can_change_settings(self) -> bool:
        return self.role in TECHNICAL_ROLES

    @property
    def can_see_money(self) -> bool:
        return self.role in MONEY_READERS

    @property
    def can_manage_money(self) -> bool:
        return self.role in MONEY_MANAGERS


class Scope(models.TextChoices):
    OTP = "otp", _("one-time codes")
    LINKS = "links", _("short links")
    MESSAGES = "messages", _("message history")
    BALANCE = "balance", _("balance")
    TOP_UP = "top_up", _("top-up")
    WEBHOOKS = "webhooks", _("webhooks: where events with phones go")
    PERSONS = "persons", _("personal data: export and erasure")
    POLICY = "policy", _("policy: channels by country and purpose")
    VERIFY = "verify", _("codes for another service's client")


def every_scope() -> list[str]:
    """The scopes of an ordinary key; `verify` is never combined with others."""
    return [scope.value for scope in Scope if scope is not Scope.VERIFY]


# A key has these scopes for as long as its creator has the same right as a member. Its other scopes
# belong to the company, and outlast its creator's membership.
SCOPES_BY_ROLE = {Scope.BALANCE: MONEY_READERS, Scope.TOP_UP: MONEY_MANAGERS}


def scopes_of_role(role: str | None) -> frozenset[str]:
    """The scopes that a key keeps while its creator has this role, or None after leaving."""
    return frozenset(
        scope.value
        for scope in Scope
        if scope not in SCOPES_BY_ROLE or role in SCOPES_BY_ROLE[scope]
    )
