"""Admin of links that visitors report, and of what is stopped because of them."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.client_ip import client_ip
from accounts.model_admin.admin import ReadOnlyAdmin, operator
from accounts.model_admin.change_list import UrgentFirstChangeList
from config.ids import public_id
from links.follow.pages import abuse_reports
from links.manage import changes, stopping
from links.manage.changes import Change
from links.models import Report, Stop


class PendingFilter(admin.SimpleListFilter):
    title = _("handled")
    parameter_name = "waiting"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("waiting"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Report]) -> QuerySet[Report]:
        return queryset.filter(handled_at=None) if self.value() == "yes" else queryset


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin):
    """Those that wait first."""

    changelist = UrgentFirstChangeList
    urgent = "links_report.handled_at IS NULL"
    ordering = ("-pk",)
    list_display = ("reported_at", "link", "company", "target", "reason", "words", "handled_at")
    list_filter = (PendingFilter, "reason")
    list_select_related = ("link__company",)
    search_fields = ("=link__key", "link__company__name__istartswith")
    actions = ("disable_links", "handle")

    @admin.display(description=_("company"))
    def company(self, report: Report) -> str:
        return str(report.link.company)

    @admin.display(description=_("target"))
    def target(self, report: Report) -> str:
        return report.link.url

    @admin.action(description=_("Handled: nothing more to do"), permissions=["handle"])
    def handle(self, request: HttpRequest, reports: QuerySet[Report]) -> None:
        count = abuse_reports.mark_handled(reports)
        text = ngettext("%(n)d report is handled.", "%(n)d reports are handled.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)

    @admin.action(description=_("Disable the links reported"), permissions=["disable"])
    def disable_links(self, request: HttpRequest, reports: QuerySet[Report]) -> None:
        user, ip = operator(request), client_ip(request.META)
        links = {one.link for one in reports.select_related("link")}
        live = [one for one in links if not one.is_barred and one.retired_at is None]
        off = Change(is_enabled=False, by_operator=True)
        for link in live:
            changes.change(link=link, wanted=off, user=user, ip=ip)
        abuse_reports.mark_handled(reports)
        text = ngettext("%(n)d link disabled.", "%(n)d links disabled.", len(live))
        self.message_user(request, text % {"n": len(live)}, messages.SUCCESS)

    def has_handle_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("links.change_report")

    def has_disable_permission(self, request: HttpRequest) -> bool:
        return self.has_handle_permission(request) and request.user.has_perm("links.change_link")


@admin.register(Stop)
class StopAdmin(ReadOnlyAdmin):
    list_display = ("stopped_at", "company", "what", "is_operators")
    list_select_related = ("company",)
    search_fields = ("=company__id", "company__name__istartswith")
    ordering = ("-stopped_at",)
    actions = ("release",)

    @admin.display(description=_("what is stopped"))
    def what(self, stop: Stop) -> Any:
        return public_id("bat", stop.batch_id) if stop.batch_id else _("all links")

    @admin.action(description=_("Release: the links work again"), permissions=["release"])
    def release(self, request: HttpRequest, stops: QuerySet[Stop]) -> None:
        user, ip = operator(request), client_ip(request.META)
        count = sum(
            stopping.release(
                company=one.company, batch_id=one.batch_id, user=user, ip=ip, by_operator=True
            )
            for one in stops.select_related("company")
        )
        text = ngettext("%(n)d stop is released.", "%(n)d stops are released.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("links.change_link")
