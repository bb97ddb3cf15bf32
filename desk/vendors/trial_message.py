"""A trial message by one provider: sent like any other, paid for by the service's own company.

The tokens it needs are granted beforehand, so that the ledger shows each trial and who made it.
"""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.audit import events
from accounts.keys.api_keys import Principal
from accounts.models import Company, User
from billing.wallet import ledger
from channels.accept.acceptance import Sender, price
from channels.models import ProviderAccount
from channels.phone_numbers import normalise
from channels.providers.base import Channel, Content
from channels.vendor_accounts import registry
from config.ids import request_id
from config.logs import mask_phone
from links.make.create import LinkSendRequest, send_link
from links.make.new_link import NewLink
from otp.send import CodeSendRequest, send_code

COMPANY = "Kvitok · проверка отправки"
PURPOSE = "operator trial"
LINK_LIFETIME = 3600  # seconds


@dataclass(frozen=True, slots=True)
class TrialMessage:
    """What a provider can be tried with: the first it is the chosen carrier of."""

    provider: str
    channel: Channel
    content: Content


def trial_for(provider: str) -> TrialMessage | None:
    """None when another account of the same channel carries everything, or it has no token."""
    carried = {
        Content(content): Channel(channel)
        for (mode, channel, content), ways in registry.routes_by_key().items()
        if mode == "live" and _first(ways) == provider
    }
    return next(
        (TrialMessage(provider, carried[one], one) for one in Content if one in carried), None
    )


def _first(ways: list[registry.Route]) -> str | None:
    """Of the accounts in use the one that is asked before the others."""
    known = {one.name: one for one in ProviderAccount.objects.all()}
    placed = [
        (known[one.provider].position if one.provider in known else one.position, one.provider)
        for one in ways
        if one.provider not in known or known[one.provider].is_enabled
    ]
    return min(placed)[1] if placed else None


def send_trial(*, trial: TrialMessage, phone: str, locale: str, user: User, ip: str) -> UUID:
    """The message's id, once its first outcome is known; raises a DomainError."""
    number = normalise(phone, settings.OPERATOR_COUNTRY)
    company = _company(user)
    cost = price(trial.channel, "live")
    _fund(company, cost, user)
    events.record(
        "trial.sent", f"{trial.provider} {mask_phone(number)}", company=company, user=user, ip=ip
    )
    sender = Sender(_principal(company), request_id())
    link = NewLink(settings.PUBLIC_URL, lifetime=LINK_LIFETIME)
    if trial.content is Content.LINK:
        order = LinkSendRequest(number, locale, trial.channel.value, "", link)
        return send_link(sender=sender, order=order).outcome.message_id
    carried = link if trial.content is Content.CODE_WITH_LINK else None
    code = CodeSendRequest(number, PURPOSE, locale, trial.channel.value, carried)
    return send_code(sender=sender, order=code).outcome.message_id


@transaction.atomic
def _company(user: User) -> Company:
    """A company without members: nobody but the desk can send for it."""
    found = Company.objects.filter(name=COMPANY, members=None).order_by("pk").first()
    if found is None:
        found = Company.objects.create(name=COMPANY, brand="Kvitok", status=Company.Status.APPROVED)
        events.record("company.created", found, company=found, user=user)
    return found


def _fund(company: Company, cost: int, user: User) -> None:
    available, _held = ledger.balance(company.pk)
    if available < cost:
        ledger.grant(company=company, amount=cost - available, reason=PURPOSE, user=user)


def _principal(company: Company) -> Principal:
    return Principal(
        key_id=0,
        mode="live",
        scopes=frozenset(),
        allowed_ips=(),
        company_id=company.pk,
        company_status=company.status,
        country=company.country,
        language=company.language,
        brand=company.brand or company.name,
        default_channel="",
        code_length=company.code_length,
        allowed_countries=frozenset(),
        default_link_lifetime=None,
        api_rate=None,
    )
