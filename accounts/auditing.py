"""What was done, as the cabinet says it."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import AuditEvent

WORDS: dict[str, str | Promise] = {
    "company.created": _("created the company"),
    "company.approved": _("approved the company"),
    "company.suspended": _("suspended the company"),
    "company.pending": _("put the company back to waiting"),
    "settings.changed": _("changed the settings"),
    "text.created": _("added a text"),
    "text.changed": _("changed a text"),
    "text.deleted": _("deleted a text"),
    "autofill.changed": _("changed the lines for autofill"),
    "key.created": _("created an API key"),
    "key.rotated": _("replaced an API key"),
    "key.revoked": _("revoked an API key"),
    "history.exported": _("downloaded the history"),
    "member.invited": _("invited a member"),
    "member.joined": _("joined the company"),
    "member.role_changed": _("changed a member's role"),
    "member.removed": _("removed a member"),
    "member.left": _("left the company"),
    "invitation.revoked": _("called an invitation off"),
    "webhook.created": _("added a callback address"),
    "webhook.changed": _("changed a callback address"),
    "webhook.rotated": _("replaced the secret of a callback address"),
    "webhook.enabled": _("switched callbacks on"),
    "webhook.disabled": _("switched callbacks off"),
    "webhook.deleted": _("removed a callback address"),
    "webhook.replayed": _("replayed events"),
    "webhook.gave_up": _("switched callbacks off: nothing was accepted for a day"),
    "order.created": _("asked for a top-up"),
    "order.canceled": _("called a top-up off"),
    "order.confirmed": _("confirmed a payment"),
    "payment.recorded": _("recorded a payment that does not fit"),
    "payment.accepted": _("accepted a payment that differs"),
    "payment.settled": _("settled a payment by hand"),
    "billing.changed": _("changed the details for invoices"),
    "seller.changed": _("changed the seller's details"),
    "prices.changed": _("changed the prices"),
    "wallet.adjusted": _("changed the balance by hand"),
    "statement.exported": _("downloaded the statement"),
    "link.disabled": _("disabled a short link"),
    "link.changed": _("changed a short link"),
    "links.exported": _("downloaded the list of links"),
    "links.blocked": _("disabled links to a blocked site"),
    "links.stopped": _("stopped short links"),
    "links.released": _("let short links lead on again"),
    "factor.reset": _("reset a second factor"),
    "trial.sent": _("sent a trial message"),
    "account.changed": _("changed a provider account"),
    "account.enabled": _("switched a provider account on"),
    "account.disabled": _("switched a provider account off"),
    "breaker.closed": _("closed a breaker"),
}
# Fields as they are recorded, and as the forms call them.
FIELDS: dict[str, str | Promise] = {
    "brand": _("Brand in messages"),
    "language": _("Language of messages"),
    "code_length": _("Digits in a code"),
    "default_channel": _("Default channel"),
    "allowed_countries": _("Allowed countries"),
    "all_countries": _("Send to every country"),
    "default_link_lifetime": _("Default link lifetime"),
    "link_host": _("Host of new short links"),
    "link_targets": _("Sites that links may lead to"),
    "link_utm": _("Tags added to targets"),
    "link_expired_url": _("Where links lead once they have expired"),
    "cool_down": _("Seconds between two codes"),
    "codes_per_10_min": _("Codes in 10 minutes"),
    "codes_per_hour": _("Codes in an hour"),
    "codes_per_day": _("Codes in 24 hours"),
    "links_per_10_min": _("Links in 10 minutes"),
    "links_per_day": _("Links in 24 hours"),
    "falls_back": _("Send by the next channel what was not delivered by the first"),
    "fallback_chain": _("Order of channels"),
    "patience_whatsapp": _("Seconds for WhatsApp"),
    "patience_telegram": _("Seconds for Telegram"),
    "patience_sms": _("Seconds for SMS"),
    "fallback_max_cost": _("Tokens at most"),
    "country": _("Country"),
    "legal_name": _("Legal name"),
    "inn": _("INN"),
    "kpp": _("KPP"),
    "address": _("Legal address"),
    "email": _("E-mail for documents"),
    "mode": _("Mode"),
    "phone": _("Phone"),
    "id": _("Message or request id"),
    "channel": _("Channel"),
    "state": _("Status"),
    "kind": _("Kind"),
    "api_key": _("Key"),
    "date_from": _("From"),
    "date_to": _("To"),
}
OF_FIELDS = {"settings.changed", "billing.changed", "history.exported"}


def words(action: str) -> str | Promise:
    return WORDS.get(action, action)


def subject(event: AuditEvent) -> str:
    """What it was done to; names of fields become their labels."""
    if event.action not in OF_FIELDS:
        return event.subject
    return ", ".join(str(FIELDS.get(name, name)) for name in event.subject.split(", "))
