"""Declarations of messages, which the packages below them read."""

from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.purges import PURGERS
from cabinet import csv_exports, search
from channels.history import retention
from channels.web import calls, search_sources
from channels.web.message_csv import MessagesCsv
from webhooks import events

PURGERS += retention.PURGERS
csv_exports.register(MessagesCsv())
search.register(search_sources.PAGES, search_sources.SOURCE)
events.declare(*calls.EVENTS)
audit.declare({"history.exported": _("downloaded the history")}, has_fields=True)
audit.declare(
    {
        "policy.changed": _("changed the policy"),
        "account.connected": _("connected a provider account"),
        "account.disconnected": _("disconnected a provider account"),
        "account.enabled": _("switched a provider account on"),
        "account.disabled": _("switched a provider account off"),
        "channel.paused": _("paused a channel"),
        "channel.resumed": _("resumed a channel"),
    }
)
audit.FIELD_LABELS |= {
    "mode": _("Mode"),
    "phone": _("Phone"),
    "id": _("Message or request id"),
    "channel": _("Channel"),
    "state": _("Status"),
    "api_key": _("Key"),
}
