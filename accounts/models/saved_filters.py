"""Filters of lists that a person has named, to find them again."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from accounts.models.people import Company
from accounts.models.users import User


class SavedFilter(models.Model):
    """The query of a list, without what names a person or one object: no phone, no id."""

    MOST = 20  # for a user, a company and a list

    class Page(models.TextChoices):
        MESSAGES = "messages", _("Messages")
        REQUESTS = "requests", _("Requests")

    user = models.ForeignKey(User, models.CASCADE, related_name="saved_filters")
    company = models.ForeignKey(Company, models.CASCADE, related_name="+")
    page = models.CharField(_("list"), max_length=10, choices=Page.choices)
    name = models.CharField(_("name"), max_length=40)
    query = models.CharField(_("query"), max_length=500)
    is_default = models.BooleanField(_("opened first"), default=False, db_default=False)

    class Meta:
        verbose_name = _("saved filter")
        verbose_name_plural = _("saved filters")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                "user", "company", "page", Lower("name"), name="saved_filter_once"
            ),
            models.UniqueConstraint(
                fields=["user", "company", "page"],
                condition=Q(is_default=True),
                name="saved_filter_one_default",
            ),
        ]

    def __str__(self) -> str:
        return self.name
