"""The price list: packages, a price per token for other quantities, and SMS by country."""

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, TypeVar

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

M = TypeVar("M", bound=models.Model)
CENT = Decimal("0.01")
CURRENCY = RegexValidator(r"^[A-Z]{3}$", _("Three capital letters, such as RUB."))


def by_user(name: "str | _StrPromise") -> "models.ForeignKey[User | None, User | None]":
    """A reference to the acting user, as long as the account exists."""
    return models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=name
    )


def optional(
    model: type[M], related_name: str, name: "str | _StrPromise", *, db_index: bool = True
) -> "models.ForeignKey[M | None, M | None]":
    """An optional foreign key; the row that it names cannot be deleted."""
    return models.ForeignKey(
        model,
        models.PROTECT,
        null=True,
        blank=True,
        related_name=related_name,
        db_index=db_index,
        verbose_name=name,
    )


class PackageQuerySet(models.QuerySet["Package"]):
    def on_sale(self) -> "PackageQuerySet":
        return self.filter(is_active=True).order_by("position", "tokens")


class Package(models.Model):
    code = models.SlugField(_("code"), max_length=40, unique=True, help_text=_("for the API"))
    tokens = models.PositiveBigIntegerField(_("tokens"), validators=[MinValueValidator(1)])
    price = models.DecimalField(
        _("price"), max_digits=12, decimal_places=2, validators=[MinValueValidator(CENT)]
    )
    currency = models.CharField(_("currency"), max_length=3, default="RUB", validators=[CURRENCY])
    position = models.PositiveSmallIntegerField(_("place in the list"), default=0)
    is_active = models.BooleanField(_("on sale"), default=True)

    objects = PackageQuerySet.as_manager()

    class Meta:
        verbose_name = _("package")
        verbose_name_plural = _("packages")
        ordering = ["position", "tokens"]
        constraints = [
            models.CheckConstraint(
                condition=Q(tokens__gt=0, price__gt=0), name="package_costs_something"
            )
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.tokens}"


class TariffQuerySet(models.QuerySet["Tariff"]):
    def step_for(self, tokens: int, currency: str) -> "Tariff | None":
        """The tier of a number of tokens: the highest one it reaches."""
        return (
            self.filter(currency=currency, tokens_from__lte=tokens).order_by("-tokens_from").first()
        )


class Tariff(models.Model):
    """A volume tier of a currency: the price of each token from this quantity on."""

    tokens_from = models.PositiveBigIntegerField(
        _("from tokens"), validators=[MinValueValidator(1)]
    )
    currency = models.CharField(
        _("currency"), max_length=3, default="RUB", db_default="RUB", validators=[CURRENCY]
    )
    price = models.DecimalField(
        _("price of a token"),
        max_digits=10,
        decimal_places=4,
        validators=[MinValueValidator(Decimal("0.0001"))],
    )

    objects = TariffQuerySet.as_manager()

    class Meta:
        verbose_name = _("price of a token")
        verbose_name_plural = _("prices of a token")
        ordering = ["currency", "tokens_from"]
        constraints = [
            models.UniqueConstraint(fields=["currency", "tokens_from"], name="tariff_step_once"),
            models.CheckConstraint(
                condition=Q(tokens_from__gt=0, price__gt=0), name="tariff_costs_something"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tokens_from}+: {self.price} {self.currency}"

    def amount(self, tokens: int) -> Decimal:
        return (self.price * tokens).quantize(CENT, ROUND_HALF_UP)


MAX_TOKENS = 1000  # for one SMS


class SmsPrice(models.Model):
    """A price with a start time; rows that have started are history and stay."""

    country = models.CharField(_("country"), max_length=2)
    tokens = models.PositiveSmallIntegerField(
        _("tokens per SMS"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_TOKENS)],
        help_text=_("empty: the price of all countries again"),
    )
    starts_at = models.DateTimeField(
        _("from"),
        default=timezone.now,
        help_text=_("earlier messages keep the price at which they were held"),
    )
    created_by = by_user(_("created by"))
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("price of an SMS by country")
        verbose_name_plural = _("prices of an SMS by country")
        constraints = [
            models.UniqueConstraint(fields=["country", "starts_at"], name="sms_price_once"),
            models.CheckConstraint(
                condition=Q(tokens__isnull=True) | Q(tokens__gte=1, tokens__lte=MAX_TOKENS),
                name="sms_price_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.country}: {self.tokens or '—'}"
