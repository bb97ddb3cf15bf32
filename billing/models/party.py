"""The parties of an invoice: the seller of tokens with its VAT, and the buying company."""

from datetime import date
from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from billing.billing_details import ACCOUNT, BIC, KPP, missing_fields, validate_inn
from catalogue.languages import page_languages

# Percent, newest first: НК РФ, art. 164, item 3.
GENERAL_RATES = (
    (date(2026, 1, 1), Decimal("22.00")),
    (date(2019, 1, 1), Decimal("20.00")),
    (date(2004, 1, 1), Decimal("18.00")),
)


class VatRegimeQuerySet(models.QuerySet["VatRegime"]):
    def on(self, day: date) -> "VatRegime | None":
        return self.filter(since__lte=day).order_by("-since").first()


class VatRegime(models.Model):
    """The seller's regime from a day on, until the next one begins."""

    class Regime(models.TextChoices):
        GENERAL = "general", _("general: 22 percent since 2026, 20 before")
        SIMPLIFIED_5 = "usn5", _("simplified, 5%")
        SIMPLIFIED_7 = "usn7", _("simplified, 7%")
        EXEMPT = "exempt", _("without VAT")

    since = models.DateField(_("since"))
    regime = models.CharField(_("regime"), max_length=7, choices=Regime.choices)

    objects = VatRegimeQuerySet.as_manager()

    class Meta:
        verbose_name = _("VAT regime")
        verbose_name_plural = _("VAT regimes")
        constraints = [models.UniqueConstraint(fields=["since"], name="vat_regime_once")]

    def __str__(self) -> str:
        return f"{self.since:%d.%m.%Y}: {self.get_regime_display()}"

    def rate_on(self, day: date) -> Decimal | None:
        """The VAT rate in per cent, or None for no VAT."""
        match self.regime:
            case self.Regime.GENERAL:
                return next((rate for since, rate in GENERAL_RATES if since <= day), None)
            case self.Regime.SIMPLIFIED_5:
                return Decimal("5.00")
            case self.Regime.SIMPLIFIED_7:
                return Decimal("7.00")
        return None


DEFAULT_THRESHOLD = 100  # tokens


class Seller(models.Model):
    """The billing details that invoices are issued with; a single row."""

    name = models.CharField(_("name"), max_length=160, help_text=_("as the bank knows it"))
    inn = models.CharField(_("INN"), max_length=12, validators=[validate_inn])
    kpp = models.CharField(_("KPP"), max_length=9, blank=True, validators=[KPP])
    address = models.CharField(_("address"), max_length=300)
    bank_name = models.CharField(_("bank"), max_length=120)
    bic = models.CharField(_("BIC"), max_length=9, validators=[BIC])
    account = models.CharField(_("account"), max_length=20, validators=[ACCOUNT])
    corr_account = models.CharField(_("correspondent account"), max_length=20, validators=[ACCOUNT])
    vat_rate = models.DecimalField(
        _("VAT, %"),
        max_digits=4,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(99))],
        help_text=_(
            "included in the prices; empty: not a VAT payer; counts until the first of the VAT "
            "regimes begins"
        ),
    )
    charges_vat_abroad = models.BooleanField(
        _("VAT for buyers abroad, too"),
        default=False,
        db_default=False,
        help_text=_(
            "off: they are invoiced without VAT, those in the EU with a VAT ID under reverse charge"
        ),
    )
    head = models.CharField(_("head, signs invoices"), max_length=80, blank=True)
    accountant = models.CharField(_("chief accountant"), max_length=80, blank=True)
    edo_id = models.CharField(
        _("id in electronic document exchange"),
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text=_("as the exchange operator gave it: it goes into the names of XML documents"),
    )
    documents_since = models.DateField(
        _("closing documents since"),
        null=True,
        blank=True,
        help_text=_(
            "the first month for which documents are issued, by any of its days; empty: none are"
        ),
    )
    details_abroad = models.TextField(
        _("bank details for payers abroad"),
        max_length=1000,
        blank=True,
        help_text=_("English: name, bank, IBAN, SWIFT; shown on English invoices"),
    )

    class Meta:
        verbose_name = _("seller's details")
        verbose_name_plural = _("seller's details")
        constraints = [models.CheckConstraint(condition=Q(id=1), name="seller_is_one")]

    def __str__(self) -> str:
        return self.name


class BillingProfile(models.Model):
    """A company's billing details and its low-balance threshold."""

    company = models.OneToOneField(
        Company, models.CASCADE, primary_key=True, verbose_name=_("company")
    )
    # The country on invoices; empty: the company's, which also determines how its phones are
    # parsed.
    country = models.CharField(_("country"), max_length=2, blank=True, default="", db_default="")
    legal_name = models.CharField(_("legal name"), max_length=200, blank=True)
    inn = models.CharField(_("INN"), max_length=20, blank=True)
    kpp = models.CharField(_("KPP"), max_length=9, blank=True)
    address = models.CharField(_("address"), max_length=300, blank=True)
    email = models.EmailField(_("e-mail for documents"), blank=True)
    edo_id = models.CharField(
        _("id in electronic document exchange"),
        max_length=60,
        blank=True,
        default="",
        db_default="",
    )
    # Currency of its prices; empty: its country's, if something is sold in that.
    currency = models.CharField(
        _("currency of prices"), max_length=3, blank=True, default="", db_default=""
    )
    # Language of invoices, acts and statements; empty: the company's. Russian forms stay Russian.
    documents_language = models.CharField(
        _("language of documents"),
        max_length=2,
        blank=True,
        default="",
        db_default="",
        choices=page_languages.choices,
    )
    low_balance = models.PositiveBigIntegerField(
        _("low-balance alert below"), default=DEFAULT_THRESHOLD
    )
    low_balance_notified_at = models.DateTimeField(
        _("low-balance alert sent"), null=True, blank=True
    )

    class Meta:
        verbose_name = _("billing profile")
        verbose_name_plural = _("billing profiles")

    def __str__(self) -> str:
        return self.legal_name or str(self.pk)

    @classmethod
    def for_company(cls, company: Company) -> "BillingProfile":
        """The stored profile, or an unsaved one with the defaults."""
        profile = cls.objects.filter(company=company).first() or cls()
        profile.company = company
        return profile

    @property
    def effective_country(self) -> str:
        return self.country or self.company.country

    @property
    def effective_language(self) -> str:
        return self.documents_language or page_languages.nearest(self.company.language)

    @property
    def missing(self) -> dict[str, Promise]:
        """The missing billing details of an invoice, by field."""
        return missing_fields(
            country=self.effective_country, legal_name=self.legal_name, inn=self.inn, kpp=self.kpp
        )
