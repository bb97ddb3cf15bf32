"""Admin of short links, companies' hosts, blocked sites, visitors' reports, and stops."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.audit import record
from accounts.masked_phones import mask_phones_in
from accounts.models import Company
from catalogue.errors import DomainError
from catalogue.ids import public_id
from links.addresses import reserved_names, short_hosts, target_urls
from links.follow import preview_page, resolution
from links.manage import changes, stopping
from links.manage.changes import Change
from links.models import BlockedHost, Link, Report, ShortHost, Stop
from links.web.forms import validated
from operator_admin.model_pages.bases import ActionAdmin, ModelAdmin, ReadOnlyAdmin, actor
from operator_admin.model_pages.change_list import (
    UrgentFirstChangeList,
    choice_filter,
    since_filter,
)

ENABLED = Change(is_enabled=True, by_operator=True)


def _reserved(links: QuerySet[Link]) -> QuerySet[Link]:
    """Aliases that were created before their names were reserved; they keep their targets."""
    aliases = links.filter(is_alias=True, retired_at=None).values_list("pk", "slug")
    return links.filter(
        pk__in=[pk for pk, slug in aliases.iterator() if reserved_names.is_reserved_alias(slug)]
    )


@admin.register(Link)
class LinkAdmin(ActionAdmin):
    list_display = (
        *("slug", "host", "company", "mode", "url"),
        *("created_at", "expires_at", "disabled_at", "is_barred"),
    )
    list_filter = (
        *(since_filter(), "mode", "is_alias", ("disabled_at", admin.EmptyFieldListFilter)),
        choice_filter(
            _("name"), "name", {"reserved": (_("Reads as a page of the service"), _reserved)}
        ),
    )
    list_select_related = ("company", "host")
    search_fields = ("key",)
    search_help_text = _("Short link, slug or alias")
    search_has_index = True
    ordering = ("-pk",)
    actions = ("disable", "enable", "stop_batches", "stop_companies")

    def find(self, rows: QuerySet[Link], text: str) -> QuerySet[Link]:
        slug = text.rstrip("/").rpartition("/")[2]
        if not slug:
            return rows
        # The index of names excludes retired links.
        return rows.filter(key__in=short_hosts.keys(slug), retired_at=None)

    @admin.action(description=_("Disable: the link stops working"), permissions=["handle"])
    def disable(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        live = list(links.filter(disabled_at=None).select_related("company"))
        resolution.invalidate_before_commit(*live)
        links.update(disabled_at=Coalesce("disabled_at", timezone.now()), is_barred=True)
        for link in live:
            subject = mask_phones_in(link.slug)
            record("link.disabled", subject, company=link.company, **actor(request))
        resolution.invalidate_after_commit(*live)
        text = ngettext("%(n)d link disabled.", "%(n)d links disabled.", len(live))
        self.message_user(request, text % {"n": len(live)}, messages.SUCCESS)

    @admin.action(description=_("Enable: the links work again"), permissions=["handle"])
    def enable(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        off = links.filter(retired_at=None).exclude(disabled_at=None)
        count = sum(self._enable(link, request) for link in off)
        text = ngettext("%(n)d link enabled.", "%(n)d links enabled.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)

    def _enable(self, link: Link, request: HttpRequest) -> bool:
        """Enables the link unless its site is blocked."""
        try:
            changes.change(link=link, new_values=ENABLED, **actor(request))
        except DomainError:
            return False
        return True

    @admin.action(description=_("Stop all links of their batches"), permissions=["handle"])
    def stop_batches(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        selected = links.exclude(batch_id=None).select_related("company")
        self._stop(request, {(link.company, link.batch_id) for link in selected})

    @admin.action(description=_("Stop all links of their companies"), permissions=["handle"])
    def stop_companies(self, request: HttpRequest, links: QuerySet[Link]) -> None:
        selected = links.select_related("company")
        self._stop(request, {(link.company, None) for link in selected})

    def _stop(self, request: HttpRequest, batches: set[tuple[Company, UUID | None]]) -> None:
        count = sum(
            stopping.stop(company=company, batch_id=batch_id, **actor(request), by_operator=True)
            for company, batch_id in batches
        )
        text = ngettext("%(n)d stop is in force.", "%(n)d stops are in force.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)


class CachedRowsAdmin(ModelAdmin):
    """Rows that processes cache, and reload after a change is committed."""

    invalidate: ClassVar[Callable[[], None]]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(type(self).invalidate)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        super().delete_model(request, obj)
        transaction.on_commit(type(self).invalidate)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


class ShortHostForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        help_texts = {
            "host": _(
                "Lower case, without https:// and a port. Point its DNS record at the proxy, which "
                "must have a certificate for it and pass the Host header on. It works within five "
                "seconds."
            )
        }

    def clean_host(self) -> str:
        host = validated(target_urls.check_site, self.cleaned_data["host"])
        if short_hosts.is_ours(host):
            raise ValidationError(_("This host already serves the service itself or short links."))
        return host


@admin.register(ShortHost)
class ShortHostAdmin(CachedRowsAdmin):
    invalidate = staticmethod(short_hosts.invalidate_cache)
    form = ShortHostForm
    list_display = ("host", "company", "created_at")
    list_select_related = ("company",)
    search_fields = ("host__istartswith", "company__name__istartswith")
    autocomplete_fields = ("company",)
    ordering = ("-created_at",)

    def has_change_permission(self, request: HttpRequest, obj: ShortHost | None = None) -> bool:
        return obj is None and super().has_change_permission(request)  # its links are printed

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Lists no existing links: there may be millions."""
        used = [host for host in objs if Link.objects.filter(host=host).exists()]
        if not used:
            return super().get_deleted_objects(objs, request)
        text = _("%(host)s has links that would stop working")
        return [str(host) for host in used], {}, set(), [text % {"host": host} for host in used]

    def delete_model(self, request: HttpRequest, obj: ShortHost) -> None:
        Company.objects.filter(link_host=obj.host).update(link_host="")
        super().delete_model(request, obj)


class BlockedHostForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        help_texts = {
            "host": _(
                "Subdomains are included. Existing links to it keep working until you disable "
                "them with the action in the list."
            )
        }

    def clean_host(self) -> str:
        return validated(target_urls.check_site, self.cleaned_data["host"])


@admin.register(BlockedHost)
class BlockedHostAdmin(CachedRowsAdmin):
    invalidate = staticmethod(target_urls.invalidate_blocked_sites)
    form = BlockedHostForm
    list_display = ("host", "reason", "created_at")
    search_fields = ("host__icontains",)
    ordering = ("-created_at",)
    actions = ("disable_links",)

    @admin.action(description=_("Disable links that lead there"), permissions=["disable"])
    def disable_links(
        self, request: HttpRequest, sites: QuerySet[BlockedHost]
    ) -> HttpResponse | None:
        names = list(sites.values_list("host", flat=True))
        if "confirmed" not in request.POST:
            return self._ask(request, names)
        count = sum(changes.disable_links_to(name, **actor(request)) for name in names)
        text = ngettext(
            "%(n)d link is off: only you can enable it again.",
            "%(n)d links are off: only you can enable them again.",
            count,
        )
        self.message_user(request, text % {"n": count}, messages.SUCCESS)
        return None

    def _ask(self, request: HttpRequest, names: list[str]) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Disable links that lead there"),
            "counts": [(name, changes.count_links_to(name)) for name in names],
            "chosen": request.POST.getlist("_selected_action"),
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/links/blocked_links.html", context)

    def has_disable_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("links.change_link")


@admin.register(Report)
class ReportAdmin(ActionAdmin):
    """Reports, waiting ones first."""

    changelist = UrgentFirstChangeList
    urgent = "links_report.handled_at IS NULL"
    ordering = ("-pk",)
    list_display = ("reported_at", "link", "company", "target", "reason", "words", "handled_at")
    list_filter = (
        choice_filter(
            _("handled"),
            "waiting",
            {"yes": (_("waiting"), lambda reports: reports.filter(handled_at=None))},
        ),
        "reason",
    )
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
        count = preview_page.mark_handled(reports)
        text = ngettext("%(n)d report is handled.", "%(n)d reports are handled.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)

    @admin.action(description=_("Disable the links reported"), permissions=["disable"])
    def disable_links(self, request: HttpRequest, reports: QuerySet[Report]) -> None:
        links = {report.link for report in reports.select_related("link")}
        live = [link for link in links if not link.is_barred and link.retired_at is None]
        off = Change(is_enabled=False, by_operator=True)
        for link in live:
            changes.change(link=link, new_values=off, **actor(request))
        preview_page.mark_handled(reports)
        text = ngettext("%(n)d link disabled.", "%(n)d links disabled.", len(live))
        self.message_user(request, text % {"n": len(live)}, messages.SUCCESS)

    def has_disable_permission(self, request: HttpRequest) -> bool:
        return self.has_handle_permission(request) and request.user.has_perm("links.change_link")


@admin.register(Stop)
class StopAdmin(ReadOnlyAdmin):
    list_display = ("stopped_at", "company", "stopped_links", "is_operators")
    list_select_related = ("company",)
    search_fields = ("=company__id", "company__name__istartswith")
    ordering = ("-stopped_at",)
    actions = ("release",)

    @admin.display(description=_("what is stopped"))
    def stopped_links(self, stop: Stop) -> Any:
        return public_id("bat", stop.batch_id) if stop.batch_id else _("all links")

    @admin.action(description=_("Release: the links work again"), permissions=["release"])
    def release(self, request: HttpRequest, stops: QuerySet[Stop]) -> None:
        count = sum(
            stopping.release(
                company=stop.company, batch_id=stop.batch_id, **actor(request), by_operator=True
            )
            for stop in stops.select_related("company")
        )
        text = ngettext("%(n)d stop is released.", "%(n)d stops are released.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("links.change_link")
