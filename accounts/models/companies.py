"""The company: its status and country, and the settings that its calls read."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.names import cannot_become_a_link
from catalogue import channels
from catalogue.languages import message_languages
from parsing.characters import one_line

DEFAULT_COUNTRY = "RU"  # for companies created without the form, which guesses the country


class Mode(models.TextChoices):
    LIVE = "live", _("live")
    TEST = "test", _("test")


class GuardMode(models.TextChoices):
    """The response to sends that look like SMS pumping."""

    OFF = "off", _("off")
    WATCH = "watch", _("monitoring only")
    ENFORCE = "enforce", _("hold back")


class CompanyQuerySet(models.QuerySet["Company"]):
    def closing(self) -> "CompanyQuerySet":
        """Companies scheduled for deletion; the soonest first."""
        return self.filter(
            closes_at__isnull=False, deleted_at__isnull=True, erased_at__isnull=True
        ).order_by("closes_at", "pk")

    def to_erase(self) -> "CompanyQuerySet":
        """Deleted companies that still have data about recipients."""
        return self.filter(
            closes_at__isnull=False, deleted_at__isnull=False, erased_at__isnull=True
        ).order_by("closes_at", "pk")


def _limit(name: Any) -> "models.PositiveIntegerField[int | None, int | None]":
    """A company's send limit; null: the service's default."""
    return models.PositiveIntegerField(
        name, null=True, blank=True, validators=[MinValueValidator(1)]
    )


class Company(models.Model):
    class Status(models.TextChoices):
        PENDING = "pending", _("waiting for approval")
        APPROVED = "approved", _("approved")
        SUSPENDED = "suspended", _("suspended")

    name = models.CharField(_("Company name"), max_length=120)
    status = models.CharField(
        _("status"), max_length=10, choices=Status.choices, default=Status.PENDING
    )
    country = models.CharField(
        _("Country"),
        max_length=2,
        default=DEFAULT_COUNTRY,
        help_text=_("ISO 3166 code, such as RU or KZ"),
    )
    language = models.CharField(
        _("Message language"),
        max_length=35,
        choices=message_languages.choices,
        default=settings.LANGUAGE_CODE,
    )
    brand = models.CharField(
        _("Brand in messages"),
        max_length=30,
        blank=True,
        help_text=_("leave empty for the company name"),
    )
    default_channel = models.CharField(
        _("Default channel"), max_length=10, blank=True, choices=channels.choices
    )
    code_length = models.PositiveSmallIntegerField(
        _("Digits in a code"), default=6, validators=[MinValueValidator(4), MaxValueValidator(8)]
    )
    allowed_countries = ArrayField(
        models.CharField(max_length=2),
        verbose_name=_("Allowed countries"),
        default=list,
        blank=True,
        help_text=_("leave empty for the company's own"),
    )
    all_countries = models.BooleanField(_("Send to every country"), default=False, db_default=False)
    # Country → [fixed tokens, usual tokens]; only `billing.budgets.budgets` writes it.
    budgets = models.JSONField(default=dict, db_default={}, editable=False)
    default_link_lifetime = models.PositiveIntegerField(
        _("default link lifetime, seconds"), null=True, blank=True
    )
    api_rate = models.PositiveIntegerField(
        _("API requests per 10 s and key"), null=True, blank=True
    )
    cool_down = _limit(_("Seconds between two codes"))
    codes_per_10_min = _limit(_("Codes in 10 minutes"))
    codes_per_hour = _limit(_("Codes in an hour"))
    codes_per_day = _limit(_("Codes in 24 hours"))
    links_per_10_min = _limit(_("Links in 10 minutes"))
    links_per_day = _limit(_("Links in 24 hours"))
    falls_back = models.BooleanField(
        _("Fall back to the next channel when the first does not deliver"),
        default=False,
        db_default=False,
    )
    fallback_chain = ArrayField(
        models.CharField(max_length=10),
        verbose_name=_("Order of channels"),
        default=list,
        blank=True,
        db_default=[],
    )
    # Channel → seconds to wait for a proof; missing: the channel's own patience.
    patience = models.JSONField(default=dict, db_default={}, editable=False)
    fallback_max_cost = _limit(_("Price cap, tokens"))
    # Rules by country and purpose, which only `channels.routing.stored_rules` writes.
    policy = models.JSONField(default=list, db_default=[], editable=False)
    guard_mode = models.CharField(
        _("protection against SMS pumping"),
        max_length=7,
        choices=GuardMode.choices,
        default=GuardMode.ENFORCE,
        db_default=GuardMode.WATCH,  # for companies older than the guard
    )
    # Sends are held back sooner where another company's codes are not entered.
    guard_watches_others = models.BooleanField(
        _("stricter where other companies are attacked"), default=True, db_default=True
    )
    # Open restrictions, which only `otp.protection.restrictions` writes.
    guard_restrictions = models.JSONField(default=list, db_default=[], editable=False)
    # The host of its short links; empty: the service's.
    link_host = models.CharField(
        _("Host for new short links"), max_length=253, blank=True, default="", db_default=""
    )
    # The sites that its links may lead to, with their subdomains; empty: any site.
    link_targets = ArrayField(
        models.CharField(max_length=253),
        verbose_name=_("Sites that links may lead to"),
        default=list,
        blank=True,
        db_default=[],
    )
    # A query string for the targets of its links; `{channel}` becomes the message's channel.
    link_utm = models.CharField(
        _("Tags added to targets"), max_length=300, blank=True, default="", db_default=""
    )
    link_expired_url = models.TextField(
        _("Where links lead once they have expired"), blank=True, default="", db_default=""
    )
    # Members without a second factor are asked to set one up before they see any page.
    requires_second_factor = models.BooleanField(
        _("Require two-step sign-in from every member"), default=False, db_default=False
    )
    # When the deletion that an owner requested takes place; until then everything works.
    closes_at = models.DateTimeField(_("to be deleted"), null=True, editable=False)
    # From then on its keys are refused and it has no members; its ledger still refers to this row.
    deleted_at = models.DateTimeField(_("deleted"), null=True, editable=False)
    # When the last of its data about recipients was erased.
    erased_at = models.DateTimeField(_("erased"), null=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    objects = CompanyQuerySet.as_manager()

    class Meta:
        verbose_name = _("company")
        verbose_name_plural = _("companies")
        constraints = [
            models.CheckConstraint(
                condition=Q(code_length__gte=4, code_length__lte=8), name="company_code_length"
            )
        ]
        indexes = [
            models.Index(
                fields=["closes_at"],
                name="company_closing",
                condition=Q(closes_at__isnull=False, erased_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_closing(self) -> bool:
        return self.closes_at is not None and self.deleted_at is None

    @property
    def one_line_name(self) -> str:
        """The name for e-mails; names stored before validation existed may contain anything."""
        return one_line(self.name)

    @property
    def quoted_name(self) -> str:
        """The name to be set in quotation marks: «ООО „Ромашка“»."""
        return self.one_line_name.translate({ord("«"): "„", ord("»"): "“"})

    @property
    def name_for_strangers(self) -> str:
        """`quoted_name`, or empty if a mail program might turn it into a link."""
        return self.quoted_name if cannot_become_a_link(self.name) else ""
