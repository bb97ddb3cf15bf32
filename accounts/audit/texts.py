"""Labels of audit events, as the cabinet shows them."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import AuditEvent
from config.channels import CHANNELS
from config.texts import StrOrPromise

ACTION_LABELS: dict[str, StrOrPromise] = {
    "company.created": _("created the company"),
    "company.approved": _("approved the company"),
    "company.suspended": _("suspended the company"),
    "company.pending": _("returned the company to pending approval"),
    "settings.changed": _("changed the settings"),
    "text.created": _("added a text"),
    "text.changed": _("changed a text"),
    "text.deleted": _("deleted a text"),
    "autofill.changed": _("changed the lines for autofill"),
    "key.created": _("created an API key"),
    "key.rotated": _("replaced an API key"),
    "key.revoked": _("revoked an API key"),
    "history.exported": _("downloaded the history"),
    "message.requested": _("asked for a message from the cabinet"),
    "member.invited": _("invited a member"),
    "member.joined": _("joined the company"),
    "member.role_changed": _("changed a member's role"),
    "member.removed": _("removed a member"),
    "member.left": _("left the company"),
    "invitation.revoked": _("canceled an invitation"),
    "webhook.created": _("added a webhook address"),
    "webhook.changed": _("changed a webhook address"),
    "webhook.rotated": _("replaced the secret of a webhook address"),
    "webhook.enabled": _("switched webhooks on"),
    "webhook.disabled": _("switched webhooks off"),
    "webhook.deleted": _("removed a webhook address"),
    "webhook.replayed": _("replayed events"),
    "webhook.gave_up": _("switched webhooks off: nothing was accepted for a day"),
    "order.created": _("asked for a top-up"),
    "order.canceled": _("canceled a top-up"),
    "order.confirmed": _("confirmed a payment"),
    "payment.recorded": _("recorded a payment that does not fit"),
    "payment.accepted": _("accepted a payment that differs"),
    "payment.settled": _("settled a payment manually"),
    "billing.changed": _("changed the details for invoices"),
    "seller.changed": _("changed the seller's details"),
    "prices.changed": _("changed the prices"),
    "budget.changed": _("changed the budgets"),
    "wallet.adjusted": _("changed the balance manually"),
    "statement.exported": _("downloaded the statement"),
    "link.disabled": _("disabled a short link"),
    "link.changed": _("changed a short link"),
    "links.imported": _("created short links from a file"),
    "links.exported": _("downloaded the list of links"),
    "links.blocked": _("disabled links to a blocked site"),
    "links.stopped": _("stopped short links"),
    "links.released": _("released short links"),
    "person.exported": _("exported a person's data"),
    "person.erased": _("erased a person's data"),
    "factor.reset": _("reset a second factor"),
    "admin.added": _("added in the admin"),
    "admin.changed": _("changed in the admin"),
    "admin.deleted": _("deleted in the admin"),
    "login.succeeded": _("signed in"),
    "login.sso": _("signed in by single sign-on"),
    "login.failed": _("failed to sign in"),
    "logout": _("signed out"),
    "reauthentication.passed": _("confirmed who they are"),
    "reauthentication.failed": _("failed to confirm who they are"),
    "session.ended": _("ended a session"),
    "sessions.ended": _("ended the other sessions"),
    "password.reset_requested": _("requested a password reset e-mail"),
    "password.reset": _("reset the password by e-mail"),
    "password.changed": _("changed the password"),
    "password.set": _("set a password"),
    "address.added": _("added an e-mail address"),
    "address.confirmed": _("confirmed an e-mail address"),
    "address.primary": _("changed the main e-mail address"),
    "address.removed": _("removed an e-mail address"),
    "identity.created": _("opened the account by single sign-on"),
    "identity.linked": _("connected single sign-on"),
    "identity.unlinked": _("disconnected single sign-on"),
    "identity.removed": _("removed a connection to single sign-on"),
    "desk.changed": _("got other rights as an operator by single sign-on"),
    "factor.added": _("added a second factor"),
    "factor.removed": _("removed a second factor"),
    "recovery_codes.generated": _("created new recovery codes"),
    "recovery_codes.viewed": _("looked at the recovery codes"),
    "trial.sent": _("sent a trial message"),
    "account.changed": _("changed a provider account"),
    "account.enabled": _("switched a provider account on"),
    "account.tested": _("tested a provider account"),
    "account.disabled": _("switched a provider account off"),
    "breaker.closed": _("closed a breaker"),
}
# Recorded field names and the labels of their form fields.
FIELD_LABELS: dict[str, StrOrPromise] = {
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
    "falls_back": _("Fall back to the next channel when the first does not deliver"),
    "fallback_chain": _("Order of channels"),
    **{
        f"patience_{channel.name}": format_lazy(_("Seconds for {channel}"), channel=channel.title)
        for channel in CHANNELS
    },
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
FIELD_ACTIONS = {"settings.changed", "billing.changed", "history.exported"}


def label(action: str) -> StrOrPromise:
    return ACTION_LABELS.get(action, action)


def subject(event: AuditEvent) -> str:
    """The event's subject; field names become their labels."""
    if event.action not in FIELD_ACTIONS:
        return event.subject
    return ", ".join(str(FIELD_LABELS.get(name, name)) for name in event.subject.split(", "))
