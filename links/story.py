"""What became of the link that a message carried, for the message's page."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from channels.models import Message
from channels.registry import Told
from links.models import Link


def story(message: Message) -> Iterator[Told]:
    """Of a link, or of a code that came with one."""
    link_id = message.params.get("link") or message.subject_id
    link = Link.objects.filter(pk=link_id, message_id=message.pk).first()
    if link and link.clicked_at:
        yield Told(link.clicked_at, _("The link was opened"), "success")
