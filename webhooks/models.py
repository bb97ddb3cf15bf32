"""Events for a company's endpoints, and their deliveries.

An event is stored in the transaction that causes it, only when an endpoint subscribes to it; a
worker delivers it.
"""

from collections.abc import Iterable

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Mode
from catalogue.ids import public_id, uuid7
from catalogue.texts import StrOrPromise


class EventKind(models.TextChoices):
    MESSAGE_SENT = "message.sent", _("a message was handed to the carrier")
    MESSAGE_DELIVERED = "message.delivered", _("a message was delivered")
    MESSAGE_FAILED = "message.failed", _("a message could not be delivered")
    MESSAGE_EXPIRED = "message.expired", _("delivery was not proved in time")
    OTP_VERIFIED = "otp.verified", _("the correct code was entered")
    LINK_CLICKED = "link.clicked", _("a person opened a short link")
    BALANCE_LOW = "balance.low", _("the balance is running out")
    TOP_UP_PAID = "top_up.paid", _("a top-up was paid")
    GUARD_TRIGGERED = "guard.triggered", _("sends began to be held back as an attack")


def event_kinds() -> list[tuple[str, StrOrPromise]]:
    """Choices for model fields, a function so that a new event needs no migration."""
    return [(kind.value, kind.label) for kind in EventKind]


class Event(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(
        Company, models.CASCADE, related_name="events", db_index=False, db_constraint=False
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    kind = models.CharField(_("event"), max_length=20, choices=event_kinds)
    key = models.CharField(max_length=120)  # deduplicates: one event per kind and key
    data = models.JSONField()
    at = models.DateTimeField(_("happened"))
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = [
            models.UniqueConstraint(fields=["company", "mode", "kind", "key"], name="event_once")
        ]
        indexes = [models.Index(fields=["created_at"], name="event_created")]

    def __str__(self) -> str:
        return f"{self.kind} {self.public_id}"

    @property
    def public_id(self) -> str:
        return public_id("evt", self.id)


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def for_company(self, company_id: int) -> "EndpointQuerySet":
        return self.filter(company_id=company_id, deleted_at=None)


class Endpoint(models.Model):
    """A company's URL that receives events. Its secret is derived, not stored."""

    class Reason(models.TextChoices):
        PERSON = "person", _("switched off manually")
        GONE = "gone", _("the receiver answered 410 Gone")
        FAILING = "failing", _("nothing was accepted for a whole day")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="endpoints", db_index=False)
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    url = models.CharField(_("address"), max_length=2000)
    kinds = ArrayField(models.CharField(max_length=20), verbose_name=_("events"))
    description = models.CharField(_("description"), max_length=120, blank=True, default="")
    key_id = models.CharField(max_length=16)  # the key in WEBHOOK_KEYS that derives its secret
    generation = models.PositiveIntegerField(default=1)  # of the secret
    previous_key_id = models.CharField(max_length=16, blank=True, default="")
    previous_until = models.DateTimeField(null=True)  # the previous secret signs until then
    # Older secrets that still sign: {"key_id", "generation", "until"}, oldest first.
    older_secrets = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    created_at = models.DateTimeField(_("created"), db_default=Now())
    disabled_at = models.DateTimeField(_("disabled"), null=True)
    disabled_reason = models.CharField(
        _("why"), max_length=8, choices=Reason.choices, blank=True, default=""
    )
    deleted_at = models.DateTimeField(null=True)  # soft-deleted; purged with its last delivery
    last_success_at = models.DateTimeField(_("last accepted"), null=True)
    failing_since = models.DateTimeField(_("failing since"), null=True)
    warned_at = models.DateTimeField(null=True, editable=False)  # members were warned of failing

    objects = EndpointQuerySet.as_manager()

    class Meta:
        verbose_name = _("callback endpoint")
        verbose_name_plural = _("callback endpoints")
        constraints = [
            models.UniqueConstraint(
                fields=["company", "mode", "url"],
                condition=Q(deleted_at__isnull=True),
                name="endpoint_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["company", "mode"],
                name="endpoint_of_company",
                condition=Q(deleted_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def public_id(self) -> str:
        return public_id("whk", self.id)

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None

    @property
    def health(self) -> str:
        """The endpoint's state: `off`, `failing`, `well`, or `new` before the first success."""
        if not self.is_enabled:
            return "off"
        if self.failing_since is not None:
            return "failing"
        return "well" if self.last_success_at else "new"

    @property
    def is_rotating(self) -> bool:
        return self.previous_until is not None and self.previous_until > timezone.now()


class Delivery(models.Model):
    """The delivery of one event to one endpoint, or to a message's own URL on its host."""

    class State(models.TextChoices):
        PENDING = "pending", _("on its way")
        DELIVERED = "delivered", _("accepted")
        FAILED = "failed", _("not accepted")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    event = models.ForeignKey(
        Event, models.CASCADE, related_name="deliveries", db_index=False, db_constraint=False
    )
    endpoint = models.ForeignKey(
        Endpoint, models.CASCADE, related_name="deliveries", db_index=False
    )
    # A message's own URL; empty: the endpoint's. Normalised, never logged: it may name a person.
    url = models.CharField(max_length=2000, blank=True, default="", db_default="")
    state = models.CharField(
        _("state"),
        max_length=9,
        choices=State.choices,
        default=State.PENDING,
        db_default=State.PENDING,
    )
    tries = models.PositiveIntegerField(_("tries"), default=0, db_default=0)  # of this round
    # Identifies the claim that may write the outcome.
    claims = models.PositiveIntegerField(default=0, db_default=0)
    # The lowest goes first. Clicks have 1: their number is unlimited, and they must not hold up
    # events about messages and money.
    priority = models.PositiveSmallIntegerField(default=0, db_default=0)
    due_at = models.DateTimeField(_("next try"), null=True, db_default=Now())  # null: final
    round_at = models.DateTimeField(db_default=Now())  # when the first try, or the replay, was due
    created_at = models.DateTimeField(_("created"), db_default=Now())
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        constraints = [
            models.UniqueConstraint(fields=["event", "endpoint", "url"], name="delivery_once")
        ]
        indexes = [
            models.Index(
                fields=["endpoint", "priority", "due_at"],
                name="delivery_due",
                condition=Q(due_at__isnull=False),
            ),
            models.Index(
                F("endpoint"), F("created_at").desc(), F("id").desc(), name="delivery_history"
            ),
            models.Index(
                F("endpoint"),
                F("created_at").desc(),
                F("id").desc(),
                name="delivery_failed",
                condition=Q(state="failed"),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return public_id("dlv", self.id)

    @property
    def called_url(self) -> str:
        return self.url or self.endpoint.url

    @property
    def due_in(self) -> float | None:
        """Seconds until the next try, or, during a call, until its lease ends."""
        return None if self.due_at is None else (self.due_at - timezone.now()).total_seconds()

    def finished_tries(self, attempts: Iterable["DeliveryAttempt"]) -> int:
        """The number of finished tries of this round."""
        return sum(attempt.started_at >= self.round_at for attempt in attempts)


class DeliveryAttempt(models.Model):
    """A call of an endpoint and its response."""

    class Failure(models.TextChoices):
        """The reason why there is no response; not choices of the field, to need no migration."""

        URL = "url", _("this is not an address that can be called")
        SCHEME = "scheme", _("the address must begin with https://")
        PORT = "port", _("the port must be 443 or 8443")
        ADDRESS = "address", _("the host leads into a private network")
        DNS = "dns", _("the host name does not resolve")
        CONNECT = "connect", _("the server does not accept connections")
        TLS = "tls", _("the certificate is not valid, or TLS failed")
        TIMEOUT = "timeout", _("no response within 10 seconds")
        BROKEN = "broken", _("the connection was lost before the response")
        PROTOCOL = "protocol", _("the response is not HTTP")
        INTERNAL = "internal", _("a fault on our side; we are looking into it")

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
    started_at = models.DateTimeField(_("started"))
    duration_ms = models.PositiveIntegerField(_("duration, ms"))
    headers = models.JSONField(default=dict)
    status = models.PositiveSmallIntegerField(_("HTTP status"), null=True)
    response = models.TextField(_("response"), blank=True)  # the beginning of its body
    error = models.CharField(_("error"), max_length=40, blank=True)  # a Failure

    class Meta:
        verbose_name = _("delivery attempt")
        verbose_name_plural = _("delivery attempts")

    def __str__(self) -> str:
        return f"{self.status or self.error}"

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def failure(self) -> "DeliveryAttempt.Failure | None":
        return self.Failure(self.error) if self.error else None
