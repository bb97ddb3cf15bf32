"""The queue of open messages: what is still to be done about each, and when."""

from django.db import models
from django.db.models import Q

from channels.models.messages import Message


class OpenMessage(models.Model):
    """The work left on one message; deleted once it is final and no hold of it is open.

    Derived: triggers on messages and attempts write it, whoever changes those. What it holds would
    otherwise be indexed columns of `Message`, and each change of state would write every index.
    """

    message = models.OneToOneField(
        Message,
        models.CASCADE,
        primary_key=True,
        related_name="open_message",
        db_constraint=False,
    )
    priority = models.PositiveSmallIntegerField(db_default=0)
    due_at = models.DateTimeField(null=True)
    useful_until = models.DateTimeField()
    deadline = models.DateTimeField()
    fallback_at = models.DateTimeField(null=True)
    attempt_id = models.UUIDField(null=True)  # the open one: a message has one at most

    class Meta:
        indexes = [
            models.Index(
                "priority", "due_at", name="open_message_due", condition=Q(due_at__isnull=False)
            ),
            models.Index(fields=["deadline"], name="open_message_deadline"),
            models.Index(
                fields=["fallback_at"],
                name="open_message_fallback",
                condition=Q(fallback_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.message_id)
