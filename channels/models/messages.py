"""Messages, the attempts to deliver them with their receipts, and the queue of open messages."""

from collections.abc import Mapping
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, Company, Mode
from catalogue import channels
from catalogue.ids import public_id, uuid7
from catalogue.languages import message_languages
from channels.models import stored_fields
from channels.models.stored_fields import StoredField

_IS_SET = {
    name: Func(F(name), template="%(expressions)s <> ''", output_field=models.BooleanField())
    for name in stored_fields.NAMES
}


class MessageQuerySet(models.QuerySet["Message"]):
    def for_company(self, company: Company) -> "MessageQuerySet":
        return self.filter(company=company)

    def with_stored(self, texts: Mapping[str, Any]) -> "MessageQuerySet":
        """Messages with those of the texts that are `stored_fields`. The first conditions repeat
        the indexes' as literals: a plan for any text would not use an index.
        """
        stored = {name: texts[name] for name in stored_fields.NAMES if name in texts}
        return self.filter(*(_IS_SET[name] for name in stored), **stored)


class Message(models.Model):
    """One send. While `queued` with a `due_at`, the row is its own outbox entry.

    No index has a column that a delivery changes, so that its updates write no index (HOT).
    Searches by those columns use `OpenMessage`.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENT = "sent", _("sent")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("failed")
        EXPIRED = "expired", _("expired")

    FAILED_STATES = frozenset({State.FAILED, State.EXPIRED})

    class Kind(models.TextChoices):
        CODE = "code", _("code")
        LINK = "link", _("link")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(
        Company,
        models.PROTECT,
        related_name="messages",
        db_index=False,
        db_constraint=False,
        verbose_name=_("company"),
    )
    api_key = models.ForeignKey(
        ApiKey,
        models.SET_NULL,
        null=True,
        related_name="+",
        db_constraint=False,
        db_index=False,
        verbose_name=_("API key"),
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    kind = models.CharField(_("kind"), max_length=4, choices=Kind.choices)
    content = models.CharField(_("content"), max_length=16)  # providers.base.Content
    channel = models.CharField(_("channel"), max_length=8, choices=channels.choices)
    # JSON of lifecycle.snapshots.FallbackStep: the fallback channels left, in order
    chain = models.JSONField(_("channels left to try"), default=list)
    phone = models.CharField(_("phone"), max_length=16)
    # the verification of a code, or the short link
    subject_id = models.UUIDField(_("subject"))
    # values for the renderer, never the code
    params = models.JSONField(_("parameters"), default=dict)
    locale = models.CharField(_("language"), max_length=35)  # a BCP 47 tag
    request_id = models.CharField(_("request id"), max_length=40, blank=True)
    # one of `stored_fields`; the company's other strings are in `params`
    reference = models.CharField(_("reference"), max_length=64, blank=True, db_default="")

    state = models.CharField(
        _("state"), max_length=9, choices=State.choices, default=State.QUEUED, db_default="queued"
    )
    # failed or expired: indexed, unlike `state`, which changes in every message
    is_undelivered = models.BooleanField(default=False, db_default=False, editable=False)
    error = models.CharField(_("error"), max_length=30, blank=True, db_default="")
    # number of attempts
    tries = models.PositiveSmallIntegerField(_("tries"), default=0, db_default=0)
    # number of the open hold
    hold = models.PositiveSmallIntegerField(_("hold number"), default=1, db_default=1)
    price = models.PositiveIntegerField(_("price"))
    segments = models.PositiveSmallIntegerField(_("segments"), default=1, db_default=1)
    # see `deliver.fair_queueing`
    priority = models.PositiveSmallIntegerField(_("priority"), default=0)

    created_at = models.DateTimeField(_("created"), db_default=Now())
    # null: a provider has the message, or it is final
    due_at = models.DateTimeField(_("due"), null=True, db_default=Now())
    # the message is useless to the recipient after this time
    useful_until = models.DateTimeField(_("useful until"))
    deadline = models.DateTimeField(_("deadline"))  # an unproved delivery expires after this time
    # when the patience of the current channel ends
    fallback_at = models.DateTimeField(_("falls back at"), null=True)
    # delivered, while the hold of a later attempt is still open
    is_owed = models.BooleanField(_("settlement pending"), default=False, db_default=False)
    sent_at = models.DateTimeField(_("sent"), null=True)
    delivered_at = models.DateTimeField(_("delivered"), null=True)
    read_at = models.DateTimeField(_("read"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    objects = MessageQuerySet.as_manager()

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        indexes = [
            # Ascending, and read backwards: an index that grows at its left end stays half empty.
            models.Index(fields=["company", "mode", "created_at", "id"], name="message_of_company"),
            models.Index(fields=["phone", "created_at"], name="message_phone"),
            models.Index(fields=["subject_id"], name="message_subject"),
            models.Index(
                fields=["company", "mode", "reference", "created_at", "id"],
                name="message_reference",
                condition=~Q(reference=""),
            ),
            models.Index(
                fields=["created_at"], name="message_with_phone", condition=~Q(phone__endswith="*")
            ),
            models.Index(  # these are few: a page of them would otherwise scan all messages
                fields=["company", "mode", "created_at", "id"],
                name="message_is_undelivered",
                condition=Q(is_undelivered=True),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return public_id("msg", self.id)

    @property
    def stored_texts(self) -> list[tuple[StoredField, str]]:
        """The stored fields of its kind with their texts."""
        fields = stored_fields.of_kind(self.kind)
        return [(field, getattr(self, field.name)) for field in fields]

    @property
    def source_api(self) -> str:
        """The other API of the send, a key of `api.body_admission.source_apis`; empty for our own
        API and the cabinet.
        """
        door: str = self.params.get("door", "")
        return door

    @property
    def language(self) -> str:
        """The language of its text: the nearest to its tag, else the company's at acceptance; see
        `acceptance`.
        """
        return message_languages.match(self.locale, self.params.get("language", ""))


class Attempt(models.Model):
    """One try on one channel, committed before the provider is called."""

    class State(models.TextChoices):
        SUBMITTING = "submitting", _("being handed over")
        AMBIGUOUS = "ambiguous", _("outcome unknown")
        SENT = "sent", _("accepted")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("refused")
        EXPIRED = "expired", _("expired")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    message = models.ForeignKey(
        Message,
        models.CASCADE,
        related_name="attempts",
        db_index=False,
        db_constraint=False,
        verbose_name=_("message"),
    )
    n = models.PositiveSmallIntegerField(_("number"))
    hold = models.PositiveSmallIntegerField(_("hold number"), default=1)
    price = models.PositiveIntegerField(_("price"), default=0, db_default=0)  # amount of its hold
    channel = models.CharField(_("channel"), max_length=8, choices=channels.choices)
    provider = models.CharField(_("provider"), max_length=40)
    provider_id = models.CharField(_("provider's id"), max_length=200, null=True)  # noqa: DJ001
    state = models.CharField(_("state"), max_length=10, choices=State.choices)
    error_class = models.CharField(_("kind of error"), max_length=12, blank=True, db_default="")
    error_code = models.CharField(_("provider's code"), max_length=60, blank=True, db_default="")
    error_detail = models.CharField(
        _("provider's message"), max_length=300, blank=True, db_default=""
    )
    started_at = models.DateTimeField(_("started"), db_default=Now())
    lease_until = models.DateTimeField(_("lease until"), null=True)
    accepted_at = models.DateTimeField(_("accepted"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)
    # when to poll the provider for the outcome
    poll_at = models.DateTimeField(_("next poll"), null=True)
    polls = models.PositiveSmallIntegerField(_("polls"), default=0, db_default=0)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        constraints = [
            models.UniqueConstraint(fields=["message", "n"], name="attempt_number"),
            models.UniqueConstraint(
                fields=["provider", "provider_id"],
                condition=Q(provider_id__isnull=False),
                name="attempt_provider_id",
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_until"],
                name="attempt_leased",
                condition=Q(lease_until__isnull=False),
            ),
            models.Index(
                fields=["poll_at"], name="attempt_poll", condition=Q(poll_at__isnull=False)
            ),
            models.Index(fields=["started_at"], name="attempt_started"),
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.n}"


class FallbackEvent(models.Model):
    """A decision of a message's fallback chain about a channel, shown in its timeline."""

    message = models.ForeignKey(
        Message, models.CASCADE, related_name="fallback_events", db_constraint=False
    )
    reason = models.CharField(max_length=12)  # value of `snapshots.FallbackReason`
    channel = models.CharField(_("channel"), max_length=8, choices=channels.choices)
    at = models.DateTimeField(_("time"), db_default=Now())

    class Meta:
        verbose_name = _("fallback event")
        verbose_name_plural = _("fallback events")

    def __str__(self) -> str:
        return f"{self.reason} {self.channel}"


class Receipt(models.Model):
    """A vendor's delivery receipt with its raw body; parked until its attempt is known."""

    provider = models.CharField(_("provider"), max_length=40)
    digest = models.BinaryField(max_length=32, unique=True)  # digest that detects a repeat
    provider_id = models.CharField(_("provider's id"), max_length=200, blank=True)
    # Other spellings of the id, and the phone that identifies the right one. Used by SMPP only.
    alternatives = ArrayField(
        models.CharField(max_length=200), verbose_name=_("other ids"), default=list, db_default=[]
    )
    phone = models.CharField(_("phone"), max_length=16, blank=True, db_default="")
    needs_phone = models.BooleanField(
        _("counts only for its phone"), default=False, db_default=False
    )
    ref = models.UUIDField(_("our reference"), null=True)
    state = models.CharField(_("state"), max_length=12)
    vendor_status = models.CharField(_("provider's status"), max_length=40)
    error_code = models.CharField(_("provider's code"), max_length=60, blank=True)
    error_detail = models.CharField(_("provider's message"), max_length=300, blank=True)
    at = models.DateTimeField(_("provider's time"), null=True)
    received_at = models.DateTimeField(_("received"), db_default=Now())
    # when to match it; null: matched, or given up
    due_at = models.DateTimeField(_("due"), null=True, db_default=Now())
    applied_at = models.DateTimeField(_("applied"), null=True)
    attempt = models.ForeignKey(
        Attempt,
        models.CASCADE,
        null=True,
        related_name="receipts",
        db_constraint=False,
        verbose_name=_("attempt"),
    )
    raw = models.BinaryField()

    class Meta:
        verbose_name = _("receipt")
        verbose_name_plural = _("receipts")
        indexes = [
            models.Index(fields=["due_at"], name="receipt_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["received_at"], name="receipt_received"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.vendor_status}"


class Part(models.Model):
    """One part of a long SMS, which the vendor accepts and reports under its own id."""

    attempt = models.ForeignKey(
        Attempt, models.CASCADE, related_name="parts", db_index=False, db_constraint=False
    )
    number = models.PositiveSmallIntegerField()  # counted from 1
    total = models.PositiveSmallIntegerField()
    provider = models.CharField(max_length=40)
    provider_id = models.CharField(max_length=200)
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "number"], name="part_number"),
            models.UniqueConstraint(fields=["provider", "provider_id"], name="part_provider_id"),
        ]

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"


class OpenMessage(models.Model):
    """The work left on one message; deleted once it is final and no hold of it is open.

    Derived by triggers from every change of messages and attempts. Its fields would otherwise be
    indexed columns of `Message`, and each change of state would write every index.
    """

    message = models.OneToOneField(
        Message, models.CASCADE, primary_key=True, related_name="open_message", db_constraint=False
    )
    priority = models.PositiveSmallIntegerField(db_default=0)
    due_at = models.DateTimeField(null=True)
    useful_until = models.DateTimeField()
    deadline = models.DateTimeField()
    fallback_at = models.DateTimeField(null=True)
    attempt_id = models.UUIDField(null=True)  # the open attempt; a message has at most one
    route_key = models.TextField()  # mode, channel and content that an account must carry

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
