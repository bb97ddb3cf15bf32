"""A trial message by one provider, sent like any other and paid by the service's own company.

Grants the tokens beforehand, so the ledger shows each trial and who sent it.
"""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts import audit
from accounts.keys.principal import Principal
from accounts.models import Company, User
from billing.wallet import ledger
from catalogue.channels import BY_NAME, Channel
from catalogue.ids import request_id
from channels.accept.acceptance import Sender
from channels.models import ProviderAccount
from channels.phone_numbers import normalise
from channels.providers.base import Content
from channels.routing.channel_plan import price
from channels.vendor_accounts import registry
from links.make.new_link import NewLink
from links.make.send import LinkSendRequest, send_link
from otp.send.code_request import CodeSendRequest
from otp.send.send import send_code
from processes.logs import mask_to_last_four

COMPANY = "Kvitok · проверка отправки"
PURPOSE = "operator trial"
LINK_LIFETIME = 3600  # seconds


@dataclass(frozen=True, slots=True)
class TrialMessage:
    """A provider, and the first kind of content for which it is the preferred one."""

    provider: str
    channel: Channel
    content: Content


def trial_for(provider: str) -> TrialMessage | None:
    """The trial of a provider; None if it is not configured or never its channel's first choice."""
    carried = {
        Content(content): BY_NAME[channel]
        for (mode, channel, content), routes in registry.routes_by_key().items()
        if mode == "live" and _first_enabled(routes) == provider
    }
    return next(
        (
            TrialMessage(provider, carried[content], content)
            for content in (Content.CODE, Content.CODE_WITH_LINK, Content.LINK)
            if content in carried
        ),
        None,
    )


def _first_enabled(routes: list[registry.Route]) -> str | None:
    """The first enabled account in the order."""
    accounts = {account.name: account for account in ProviderAccount.objects.all()}
    candidates = []
    for route in routes:
        account = accounts.get(route.provider)
        if account is None or account.is_enabled:
            position = route.position if account is None else account.position
            candidates.append((position, route.provider))
    return min(candidates)[1] if candidates else None


def send_trial(*, trial: TrialMessage, phone: str, locale: str, user: User, ip: str) -> UUID:
    """Sends the trial; returns the message's id after its first outcome, or raises DomainError."""
    number = normalise(phone, settings.OPERATOR_COUNTRY)
    company = _company(user)
    cost = price(trial.channel, "live")
    _grant_tokens(company, cost, user)
    audit.record(
        "trial.sent",
        f"{trial.provider} {mask_to_last_four(number)}",
        company=company,
        user=user,
        ip=ip,
    )
    sender = Sender(_principal(company), request_id())
    link = NewLink(settings.PUBLIC_URL, lifetime=LINK_LIFETIME)
    if trial.content is Content.LINK:
        request = LinkSendRequest(number, locale, trial.channel.name, "", link)
        return send_link(sender=sender, request=request).outcome.message_id
    carried = link if trial.content is Content.CODE_WITH_LINK else None
    code = CodeSendRequest(number, PURPOSE, locale, trial.channel.name, carried)
    return send_code(sender=sender, request=code).outcome.message_id


@transaction.atomic
def _company(user: User) -> Company:
    """The service's own company, which has no members, so only the admin sends for it.

    A deleted company of this name was somebody else's.
    """
    companies = Company.objects.filter(name=COMPANY, members=None, deleted_at=None)
    row = companies.order_by("pk").first()
    if row is None:
        row = Company.objects.create(name=COMPANY, brand="Kvitok", status=Company.Status.APPROVED)
        audit.record("company.created", row, company=row, user=user)
    return row


def _grant_tokens(company: Company, cost: int, user: User) -> None:
    available = ledger.balance(company.pk).available
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
