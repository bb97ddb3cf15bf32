"""Short links: a slug or an alias that stands for a URL until it expires."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Company, Mode, User
from catalogue.ids import public_id, uuid7
from links.addresses import short_hosts


class ShortHost(models.Model):
    """A company's own host for its short links; the operator adds it."""

    host = models.CharField(_("host"), max_length=253, unique=True)  # in lower case, ASCII
    company = models.ForeignKey(
        Company, models.PROTECT, related_name="short_hosts", verbose_name=_("company")
    )
    created_at = models.DateTimeField(_("added"), auto_now_add=True)

    class Meta:
        verbose_name = _("host of short links")
        verbose_name_plural = _("hosts of short links")

    def __str__(self) -> str:
        return self.host


class BlockedHost(models.Model):
    """A site that no link may lead to, including its subdomains."""

    host = models.CharField(_("host"), max_length=253, unique=True)  # in lower case, ASCII
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("added"), auto_now_add=True)

    class Meta:
        verbose_name = _("blocked site")
        verbose_name_plural = _("blocked sites")

    def __str__(self) -> str:
        return self.host


class LinkQuerySet(models.QuerySet["Link"]):
    def with_stops(self) -> "LinkQuerySet":
        """Rows annotated with their stops, and so with their state, without further queries."""
        return self.annotate(is_stopped=stopped())  # type: ignore[no-redef]  # a default of it is on the model

    def in_state(self, state: str) -> "LinkQuerySet":
        """Links in this state; needs `with_stops`, which annotates stops."""
        now = timezone.now()
        is_on = Q(disabled_at=None, is_stopped=False)
        return self.filter(
            {
                "active": is_on & Q(used_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now)),
                "expired": is_on & Q(used_at=None, expires_at__lte=now),
                "used": is_on & Q(used_at__isnull=False),
                "disabled": ~is_on,
            }[state]
        )


# The columns that an INSERT of a link sets, with SQL types; other columns have defaults. The
# statements of `links.sql` are generated from it, with parameters named `link_url` and so on.
INSERTED_COLUMNS = {
    "id": "uuid",
    "batch_id": "uuid",
    "slug": "text",
    "key": "text",
    "host_id": "bigint",
    "is_alias": "bool",
    "url": "text",
    "utm": "text",
    "expired_url": "text",
    "is_once": "bool",
    "dies_with_code": "bool",
    "reuse_key": "uuid",
}


class Link(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(
        Company, models.PROTECT, related_name="links", db_index=False, verbose_name=_("company")
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    slug = models.CharField(_("slug"), max_length=64)  # as typed or generated
    # The lookup key: an alias in lower case, after `<host id>/` if the host is not ours.
    key = models.CharField(_("key"), max_length=85)
    host = models.ForeignKey(
        ShortHost, models.PROTECT, null=True, db_index=False, verbose_name=_("host")
    )
    is_alias = models.BooleanField(_("alias"), default=False)
    url = models.TextField(_("target"))
    created_at = models.DateTimeField(_("created"), db_default=Now())
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    disabled_at = models.DateTimeField(_("disabled"), null=True, blank=True)
    # Disabled by the operator; only the operator may enable it again.
    is_barred = models.BooleanField(_("barred"), default=False, db_default=False)
    # The message that carried it to one person.
    message_id = models.UUIDField(_("message"), null=True)
    # The first click by that person. The writer proves the message by it, once: so only the provers
    # write it, while the counters write `first_click_at`, in whichever order the clicks arrive.
    clicked_at = models.DateTimeField(_("first opened"), null=True)
    batch_id = models.UUIDField(_("batch"), null=True)  # links made in one request
    # The query string that is added to the target.
    utm = models.CharField(_("tags"), max_length=300, default="", db_default="")
    expired_url = models.TextField(_("leads to once expired"), default="", db_default="")
    is_once = models.BooleanField(_("opens once"), default=False, db_default=False)
    used_at = models.DateTimeField(_("opened"), null=True)  # a link that opens once
    dies_with_code = models.BooleanField(
        _("expires with its code"), default=False, db_default=False
    )
    # The hash of the equal requests that the link serves.
    reuse_key = models.UUIDField(_("deduplication key"), null=True)
    # When its alias was reassigned; the row is history.
    retired_at = models.DateTimeField(_("alias released"), null=True)
    # Clicks by people, unlike the next two.
    clicks = models.PositiveBigIntegerField(_("clicks"), default=0, db_default=0)
    previews = models.PositiveBigIntegerField(_("previews"), default=0, db_default=0)
    scanners = models.PositiveBigIntegerField(_("scanners"), default=0, db_default=0)
    first_click_at = models.DateTimeField(_("first click"), null=True)
    last_click_at = models.DateTimeField(_("last click"), null=True)

    is_stopped = False  # with its batch or its company; annotated by `with_stops`
    is_existing = False  # made for an earlier, equal request

    objects = LinkQuerySet.as_manager()

    class Meta:
        verbose_name = _("link")
        verbose_name_plural = _("links")
        constraints = [
            models.UniqueConstraint(
                fields=["key"], condition=Q(retired_at__isnull=True), name="link_key_once"
            ),
            models.UniqueConstraint(
                fields=["company", "mode", "reuse_key"],
                condition=Q(reuse_key__isnull=False),
                name="link_reused_once",
            ),
        ]
        indexes = [
            models.Index(
                F("company"), F("mode"), F("created_at").desc(), F("id").desc(), name="link_history"
            ),
            models.Index("batch_id", condition=Q(batch_id__isnull=False), name="link_of_batch"),
            models.Index(  # few rows; shows the operator aliases that look like our pages
                "slug", condition=Q(is_alias=True, retired_at__isnull=True), name="link_alias"
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def public_id(self) -> str:
        return public_id("lnk", self.id)

    @property
    def batch(self) -> str:
        """The id of its batch in the API's form; empty if it was made alone."""
        return public_id("bat", self.batch_id) if self.batch_id else ""

    @property
    def short_url(self) -> str:
        return f"{short_hosts.base_url(self.host_id)}/{self.slug}"

    @property
    def is_live(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        is_ended = self.disabled_at is not None or self.used_at is not None
        return not (is_ended or self.is_stopped or is_expired)

    @property
    def state(self) -> str:
        if self.disabled_at is not None or self.is_stopped:
            return "disabled"
        if self.used_at is not None:
            return "used"
        return "active" if self.is_live else "expired"


class ClickBatch(models.Model):
    """An entry of the stream whose clicks are counted, so that a second delivery is ignored."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    counted_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.id)


class ClickDay(models.Model):
    """A link's clicks on one day of the cabinet's calendar; outlives the clicks themselves."""

    link = models.ForeignKey(Link, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    clicks = models.PositiveIntegerField(default=0)
    previews = models.PositiveIntegerField(default=0)
    scanners = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["link", "day"], name="click_day_once")]

    def __str__(self) -> str:
        return f"{self.day}: {self.clicks}"


class Stop(models.Model):
    """A stop of all links of a company, or of one batch, while this row exists."""

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="link_stops", verbose_name=_("company")
    )
    batch_id = models.UUIDField(_("batch"), null=True)  # None: all of the company's
    stopped_at = models.DateTimeField(_("stopped"), auto_now_add=True)
    is_operators = models.BooleanField(_("by the operator"), default=False, db_default=False)

    class Meta:
        verbose_name = _("stopped links")
        verbose_name_plural = _("stopped links")
        constraints = [
            models.UniqueConstraint(
                fields=["company", "batch_id"], nulls_distinct=False, name="link_stop_once"
            )
        ]

    def __str__(self) -> str:
        return str(self.batch_id or self.company_id)


def stopped() -> Exists:
    """The condition that all links of a link's company or batch are stopped."""
    of_company = Stop.objects.filter(company_id=OuterRef("company_id"))
    return Exists(of_company.filter(Q(batch_id=None) | Q(batch_id=OuterRef("batch_id"))))


class Report(models.Model):
    """A visitor's report on a link's preview page; stores nothing about the visitor."""

    class Reason(models.TextChoices):
        SPAM = "spam", _("a message I did not ask for")
        PHISHING = "phishing", _("pretends to be somebody else")
        MALWARE = "malware", _("harms a device")
        OTHER = "other", _("something else")

    link = models.ForeignKey(Link, models.CASCADE, related_name="reports", verbose_name=_("link"))
    reason = models.CharField(_("reason"), max_length=10, choices=Reason.choices)
    words = models.CharField(_("in the reporter's words"), max_length=500, blank=True)
    reported_at = models.DateTimeField(_("reported"), auto_now_add=True)
    handled_at = models.DateTimeField(_("handled"), null=True, blank=True)

    class Meta:
        verbose_name = _("report on a link")
        verbose_name_plural = _("reports on links")
        indexes = [
            models.Index("reported_at", condition=Q(handled_at__isnull=True), name="report_waiting")
        ]

    def __str__(self) -> str:
        return f"{self.link}: {self.get_reason_display()}"


class ErasedClicks(models.Model):
    """A link whose clicks must be erased from ClickHouse; see `links.clicks.clickhouse_sink`."""

    link_id = models.UUIDField(primary_key=True)
    erased_at = models.DateTimeField()
    # ClickHouse was asked to erase the clicks, and has none left.
    is_gone = models.BooleanField(default=False)

    def __str__(self) -> str:
        return str(self.link_id)


class LinkImportQuerySet(models.QuerySet["LinkImport"]):
    def running(self) -> "LinkImportQuerySet":
        return self.filter(state=LinkImport.State.RUNNING).order_by("started_at", "id")

    def unfinished(self) -> "LinkImportQuerySet":
        return self.filter(state__in=[LinkImport.State.DRAFT, LinkImport.State.RUNNING])

    def finished(self) -> "LinkImportQuerySet":
        return self.exclude(state__in=[LinkImport.State.DRAFT, LinkImport.State.RUNNING])

    def start(self) -> int:
        """Starts only imports that are not started, so that two clicks start one import once."""
        drafts = self.filter(state=LinkImport.State.DRAFT)
        return drafts.update(state=LinkImport.State.RUNNING, started_at=Now())


class LinkImport(models.Model):
    """A CSV file of links to make; its batch has the same id."""

    class State(models.TextChoices):
        DRAFT = "draft", pgettext_lazy("import", "not started")
        RUNNING = "running", pgettext_lazy("import", "in progress")
        DONE = "done", pgettext_lazy("import", "done")
        STOPPED = "stopped", pgettext_lazy("import", "stopped")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="link_imports")
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    language = models.CharField(max_length=2, default=settings.LANGUAGE_CODE)  # of the errors
    file_name = models.CharField(_("file"), max_length=120)
    ignored = models.JSONField(default=list)  # titles of ignored columns
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.DRAFT)
    reason = models.CharField(max_length=300, blank=True)  # the reason why it stopped
    total = models.PositiveIntegerField()
    made = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(_("created"), db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = LinkImportQuerySet.as_manager()

    class Meta:
        verbose_name = _("import of links")
        verbose_name_plural = _("imports of links")
        indexes = [
            models.Index(
                fields=["started_at", "id"],
                condition=Q(state="running"),
                name="link_import_running",
            )
        ]

    def __str__(self) -> str:
        return self.file_name

    @property
    def batch(self) -> str:
        return public_id("bat", self.id)

    @property
    def processed(self) -> int:
        return self.made + self.refused

    @property
    def percent(self) -> int:
        return 100 * self.processed // self.total

    def progress(self, *, created: int) -> None:
        self.made += created
        self.refused = self.rows.exclude(error="").count()
        self.save(update_fields=["made", "refused"])

    def finish(self, state: "LinkImport.State", *, reason: str = "") -> None:
        self.state = state
        self.reason = reason
        self.finished_at = timezone.now()
        self.save(update_fields=["state", "reason", "finished_at"])


class LinkImportRowQuerySet(models.QuerySet["LinkImportRow"]):
    def unmade(self) -> "LinkImportRowQuerySet":
        return self.filter(short_url="", error="").order_by("number")


class LinkImportRow(models.Model):
    """A row of the file: its cells, then the short link or the reason why there is none."""

    link_import = models.ForeignKey(LinkImport, models.CASCADE, related_name="rows", db_index=False)
    number = models.PositiveIntegerField()
    url = models.TextField(blank=True)
    alias = models.CharField(max_length=100, blank=True)
    expires_in = models.CharField(max_length=20, blank=True)
    short_url = models.CharField(max_length=400, blank=True)
    error = models.CharField(max_length=300, blank=True)

    objects = LinkImportRowQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["link_import", "number"], name="link_import_row_once")
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.url}"

    @property
    def cells(self) -> dict[str, str]:
        cells = {"url": self.url, "alias": self.alias, "expires_in": self.expires_in}
        return {name: cell for name, cell in cells.items() if cell}
