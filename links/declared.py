"""Declarations of links, which the packages below them read."""

from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.jobs import FILES
from accounts.purges import PURGERS
from cabinet import csv_exports, search, settings_forms
from channels.extensions import MessageKind, register
from links import link_imports
from links.api import calls
from links.clicks import counting, partitions
from links.make import message_text
from links.manage import timeline
from links.web import forms, search_sources
from links.web.link_csv import LinksCsv
from webhooks import events

register(
    MessageKind(
        name="link",
        render=message_text.render_link,
        timeline=timeline.entries,
        opened_at=timeline.opened_at,
    )
)
PURGERS += [partitions.rotate, counting.delete_old_batches, link_imports.purge]
csv_exports.register(LinksCsv())
FILES.add(link_imports.make_next)
search.register(search_sources.PAGES, search_sources.SOURCE)
settings_forms.register(forms.LinksSection)
events.declare(*calls.EVENTS)
audit.declare(
    {
        "link.disabled": _("disabled a short link"),
        "link.changed": _("changed a short link"),
        "links.imported": _("created short links from a file"),
        "links.exported": _("downloaded the list of links"),
        "links.blocked": _("disabled links to a blocked site"),
        "links.stopped": _("stopped short links"),
        "links.released": _("released short links"),
    }
)
audit.FIELD_LABELS |= {
    "default_link_lifetime": _("Default link lifetime"),
    "expires_at": _("Expires"),
    "expired_url": _("Destination once it has expired"),
    "utm": _("Tags added to targets"),
}
