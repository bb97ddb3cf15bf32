"""The rights that membership of a provider's group grants."""

from typing import NamedTuple

SUPERUSER = "superuser"
STAFF = "staff"
COMPANY_ROLES = ("owner", "developer", "accountant", "viewer")


class Grant(NamedTuple):
    """The rights that one group of the provider gives to its members."""

    group: str
    role: str
    target: str = ""  # for staff one of our groups; for a company's role the company's id
