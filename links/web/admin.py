"""Admin of short links: read-only, but for actions that disable a link or stop its whole batch."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.audit.events import record
from accounts.client_ip import client_ip
from accounts.masked_phones import mask_phones_in
from accounts.model_admin.admin import ReadOnlyAdmin, operator
from accounts.model_admin.change_list import SinceFilter
from accounts.models import Company, User
from config.errors import DomainError
from links.addresses import short_hosts, slugs
from links.follow import resolution
from links.manage import changes, stopping
from links.manage.changes import Change
from links.models import Link
from links.web.host_admin import BlockedHostAdmin, ShortHostAdmin
from links.web.report_admin import ReportAdmin, StopAdmin

__all__ = ["BlockedHostAdmin", "LinkAdmin", "ReportAdmin", "ShortHostAdmin", "StopAdmin"]

ENABLED = Change(is_enabled=True, by_operator=True)


class ReservedNameFilter(admin.SimpleListFilter):
    """Aliases given away before their names were reserved; they go on leading where they do."""

    title = _("name")
    parameter_name = "name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("reserved", _("Reads as a page of the service"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Link]) -> QuerySet[Link]:
        if self.value() != "reserved":
            return queryset
        aliases = queryset.filter(is_alias=True, retired_at=None).values_list("pk", "slug")
        found = [pk for pk, slug in aliases.iterator() if slugs.is_reserved_alias(slug)]
        return queryset.filter(pk__in=found)


@admin.register(Link)
class LinkAdmin(ReadOnlyAdmin):
    list_display = (
        "slug",
        "host",
        "company",
        "mode",
        "url",
        "created_at",
        "expires_at",
        "disabled_at",
        "is_barred",
    )
    list_filter = (
        SinceFilter,
        "mode",
        "is_alias",
        ("disabled_at", admin.EmptyFieldListFilter),
        ReservedNameFilter,
    )
    list_select_related = ("company", "host")
    search_fields = ("key",)
    search_help_text = _("Short link, slug or alias")
    search_has_index = True
    ordering = ("-pk",)
    actions = ("disable", "enable", "stop_batches", "stop_companies")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Link], search_term: str
    ) -> tuple[QuerySet[Link], bool]:
        slug = search_term.strip().rstrip("/").rpartition("/")[2]
        if not slug:
            return queryset, False
        # The index of names leaves out those that were handed on.
        return queryset.filter(key__in=short_hosts.keys(slug), retired_at=None), False

    @admin.action(description=_("Disable: the link stops working"), permissions=["disable"])
    def disable(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        live = list(links.filter(disabled_at=None).select_related("company"))
        resolution.invalidate_before_commit(*live)
        links.update(disabled_at=Coalesce("disabled_at", timezone.now()), is_barred=True)
        for link in live:
            record(
                "link.disabled",
                mask_phones_in(link.slug),
                company=link.company,
                user=operator(request),
                ip=client_ip(request.META),
            )
        resolution.invalidate_after_commit(*live)
        text = ngettext("%(n)d link disabled.", "%(n)d links disabled.", len(live))
        self.message_user(request, text % {"n": len(live)}, messages.SUCCESS)

    @admin.action(description=_("Enable: the links work again"), permissions=["disable"])
    def enable(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        user, ip = operator(request), client_ip(request.META)
        off = links.filter(retired_at=None).exclude(disabled_at=None)
        count = sum(self._enabled(link, user=user, ip=ip) for link in off)
        text = ngettext("%(n)d link enabled.", "%(n)d links enabled.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)

    def _enabled(self, link: Link, *, user: User, ip: str | None) -> bool:
        """Not one that leads to a site that is blocked."""
        try:
            changes.change(link=link, wanted=ENABLED, user=user, ip=ip)
        except DomainError:
            return False
        return True

    @admin.action(description=_("Stop all links of their batches"), permissions=["disable"])
    def stop_batches(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        chosen = links.exclude(batch_id=None).select_related("company")
        self._stop(request, {(link.company, link.batch_id) for link in chosen})

    @admin.action(description=_("Stop all links of their companies"), permissions=["disable"])
    def stop_companies(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        chosen = links.select_related("company")
        self._stop(request, {(link.company, None) for link in chosen})

    def _stop(self, request: HttpRequest, chosen: set[tuple[Company, UUID | None]]) -> None:
        user, ip = operator(request), client_ip(request.META)
        count = sum(
            stopping.stop(company=company, batch_id=batch_id, user=user, ip=ip, by_operator=True)
            for company, batch_id in chosen
        )
        text = ngettext("%(n)d stop is in force.", "%(n)d stops are in force.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)

    def has_disable_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("links.change_link")
