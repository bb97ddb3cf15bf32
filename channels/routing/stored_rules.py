"""Reads, checks and writes a company's rules: the channels for a country and a purpose.

Rules are a column of the company's row, which its keys carry, so a send needs no query for them
(`docs/decisions/0013-settings-in-the-company-row.md`). Only this module writes the column.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import phonenumbers
from django.conf import settings
from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.keys.api_keys import evict_keys
from accounts.masked_phones import mask_phones_in
from accounts.models import Company, User
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error
from catalogue.languages import tags
from catalogue.texts import StrOrPromise
from parsing.characters import is_line

MAX_RULES = 100
PURPOSE_LENGTH = 64
REPEATED = _("There is already a rule for this country and purpose.")
SETS_NOTHING = _("The rule sets nothing: choose channels, a wait, a price cap or a language.")
BOTH = _("A channel cannot be both used and blocked.")
NO_LANGUAGE_TAG = _("Not a language tag, such as de-DE (BCP 47).")
ALL_BARRED = _("The rule blocks every channel.")


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule as stored in the company's row. None and empty leave a field to less specific
    rules.
    """

    country: str = ""  # ISO 3166; empty: all
    purpose: str = ""  # empty: all purposes, and links
    channels: list[str] | None = None  # in the order in which they are tried
    patience: dict[str, int] | None = None  # seconds by channel
    max_cost: int | None = None  # maximum tokens of a message
    barred: list[str] | None = None
    locale: str = ""
    smart: bool | None = None  # the learned router sets order and patience of codes

    @property
    def key(self) -> tuple[str, str]:
        return self.country, self.purpose

    @property
    def address(self) -> str:
        """The rule's key in a URL: a purpose may hold any character."""
        return hashlib.sha256("\0".join(self.key).encode()).hexdigest()[:16]

    @property
    def sets_nothing(self) -> bool:
        values = (self.channels, self.patience or None, self.max_cost, self.barred, self.smart)
        return not self.locale and all(value is None for value in values)

    def stored(self) -> dict[str, Any]:
        return {**asdict(self), "patience": self.patience or {}}


def rules_of(company: Company) -> list[StoredRule]:
    """The rules by country, then by purpose; rules for all come first."""
    return sorted((StoredRule(**rule) for rule in company.policy), key=lambda rule: rule.key)


@transaction.atomic
def replace_rules(
    *, company: Company, rules: Sequence[StoredRule], user: User | None, ip: str | None = None
) -> None:
    """Replaces all rules; takes effect within two seconds in every process."""
    check_rules(rules)
    _write(_lock(company), rules, user, ip)


@transaction.atomic
def save_rule(
    *,
    company: Company,
    rule: StoredRule,
    instead_of: tuple[str, str] | None = None,
    user: User,
    ip: str | None = None,
) -> None:
    """Adds the rule, in place of the one with the key `instead_of` if there is one."""
    stored = _lock(company)
    others = [row for row in rules_of(stored) if row.key != instead_of]
    check_rules([*others, rule])
    _write(stored, [*others, rule], user, ip)


@transaction.atomic
def delete_rule(
    *, company: Company, key: tuple[str, str], user: User, ip: str | None = None
) -> None:
    """Deletes a rule; a missing rule is not an error."""
    stored = _lock(company)
    _write(stored, [rule for rule in rules_of(stored) if rule.key != key], user, ip)


def _lock(company: Company) -> Company:
    return Company.objects.select_for_update(no_key=True).get(pk=company.pk)


def _write(stored: Company, rules: Iterable[StoredRule], user: User | None, ip: str | None) -> None:
    before = {rule.key: rule for rule in rules_of(stored)}
    after = {rule.key: rule for rule in rules}
    if before == after:
        return
    stored.policy = [rule.stored() for rule in sorted(after.values(), key=lambda rule: rule.key)]
    stored.save(update_fields=["policy"])
    changed = [key for key in before | after if before.get(key) != after.get(key)]
    record("policy.changed", _subject(changed), company=stored, user=user, ip=ip)
    evict_keys(stored)


def _subject(keys: Iterable[tuple[str, str]]) -> str:
    return ", ".join(
        f"{country or '*'}/{mask_phones_in(purpose) or '*'}" for country, purpose in keys
    )


# Each check refers to the invalid rule by its number.


def check_rules(rules: Sequence[StoredRule]) -> None:
    """Raises `invalid_input` for the field `rules`."""
    errors: list[StrOrPromise] = [
        format_lazy("{number}: {error}", number=number, error=error)
        for number, rule in enumerate(rules, start=1)
        for error in validation_errors(rule)
    ]
    keys = [rule.key for rule in rules]
    errors += [
        format_lazy("{number}: {error}", number=number, error=REPEATED)
        for number, key in enumerate(keys, start=1)
        if key in keys[: number - 1]
    ]
    if len(rules) > MAX_RULES:
        errors.append(format_lazy(_("At most {max} rules"), max=MAX_RULES))
    if errors:
        raise DomainError(Error.INVALID_INPUT, errors={"rules": errors})


def validation_errors(rule: StoredRule) -> list[StrOrPromise]:
    faults: list[StrOrPromise] = []
    if rule.country and rule.country not in phonenumbers.SUPPORTED_REGIONS:
        faults.append(format_lazy(_("{code} is not a country code."), code=rule.country[:20]))
    if len(rule.purpose) > PURPOSE_LENGTH or not is_line(rule.purpose):
        faults.append(_("A purpose has up to 64 printable characters."))
    if rule.locale and tags.canonical(rule.locale) != rule.locale:
        faults.append(NO_LANGUAGE_TAG)
    faults += _channel_faults(rule)
    faults += _number_faults(rule)
    if rule.smart and not rule.channels:
        faults.append(_("A smart rule names the channels to choose from."))
    if not faults and rule.sets_nothing:
        faults.append(SETS_NOTHING)
    return faults


def _channel_faults(rule: StoredRule) -> list[StrOrPromise]:
    names = [*(rule.channels or []), *(rule.barred or []), *(rule.patience or {})]
    if any(name not in BY_NAME for name in names):
        return [format_lazy(_("Channels: {choices}."), choices=", ".join(BY_NAME))]
    faults: list[StrOrPromise] = []
    if rule.channels is not None and not rule.channels:
        faults.append(_("Name at least one channel."))
    if len(set(rule.channels or [])) < len(rule.channels or []):
        faults.append(_("Each channel can appear only once."))
    if set(rule.channels or []) & set(rule.barred or []):
        faults.append(BOTH)
    if set(rule.barred or []) >= BY_NAME.keys():
        faults.append(ALL_BARRED)
    return faults


def _number_faults(rule: StoredRule) -> list[StrOrPromise]:
    minimum, maximum = settings.PATIENCE_RANGE
    faults: list[StrOrPromise] = []
    if any(not minimum <= seconds <= maximum for seconds in (rule.patience or {}).values()):
        faults.append(format_lazy(_("Wait: {min} to {max} seconds."), min=minimum, max=maximum))
    if rule.max_cost is not None and not 1 <= rule.max_cost <= settings.MAX_BUDGET:
        faults.append(
            _("The maximum price of a message must be a whole number of tokens, 1 or more.")
        )
    return faults
