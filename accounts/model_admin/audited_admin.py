"""Audits operators' changes in the admin and notifies the affected users."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.admin.utils import model_format_dict
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.audit import events
from accounts.client_ip import address_of
from accounts.models import Company, Member, User
from accounts.security import notifications

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:  # generic in the stubs alone
    Base = object


class AuditedAdmin(Base):
    """Audits in addition to Django's own history, whose rows are mutable."""

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        record(request, "admin.added", obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        if message:  # something differs
            record(request, "admin.changed", obj)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        for one in queryset:
            record(request, "admin.deleted", one)
        return super().log_deletions(request, queryset)


def record(request: HttpRequest, action: str, obj: Model) -> None:
    operator = request.user
    assert isinstance(operator, User)  # noqa: S101 - the admin lets nobody else in
    company = obj if isinstance(obj, Company) else getattr(obj, "company", None)
    subject = f"{model_format_dict(obj)['verbose_name']} {obj}"
    events.record(action, subject, company=company, user=operator, ip=address_of(request))
    for person in _affected_users(obj):
        notifications.post_admin_change(person)
    if isinstance(obj, Member) and action != "admin.deleted":
        mail_about_new_owners(request, [obj])


def mail_about_new_owners(request: HttpRequest, members: Iterable[object]) -> None:
    """Notify a company's owners of an owner added by an operator."""
    for one in members:
        if (
            isinstance(one, Member)
            and one.role == Member.Role.OWNER
            and isinstance(request.user, User)
        ):
            notifications.post_company_change(
                "owner.made",
                company=one.company,
                user=request.user,
                ip=None,
                also=one.user,
                whom=one.user.email,
            )


def _affected_users(obj: Model) -> list[User]:
    """Users whose credentials or addresses the object holds."""
    if isinstance(obj, User):
        return [obj]
    return [obj.user] if isinstance(obj, EmailAddress) else []
