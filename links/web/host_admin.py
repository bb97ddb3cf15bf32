"""Admin of companies' own hosts, and of sites that no link may lead to."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.client_ip import client_ip
from accounts.model_admin.admin import ModelAdmin, operator
from accounts.models import Company
from links.addresses import short_hosts, target_urls
from links.manage import blocked_site_links
from links.models import BlockedHost, Link, ShortHost
from links.web.forms import validated

if TYPE_CHECKING:
    HostModelForm = forms.ModelForm[ShortHost]
    SiteModelForm = forms.ModelForm[BlockedHost]
else:  # generic in the stubs alone
    HostModelForm = SiteModelForm = forms.ModelForm


class ShortHostForm(HostModelForm):
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
            raise ValidationError(_("This host serves the service itself, or short links already."))
        return host


@admin.register(ShortHost)
class ShortHostAdmin(ModelAdmin):
    form = ShortHostForm
    list_display = ("host", "company", "created_at")
    list_select_related = ("company",)
    search_fields = ("host__istartswith", "company__name__istartswith")
    autocomplete_fields = ("company",)
    ordering = ("-created_at",)

    def has_change_permission(self, request: HttpRequest, obj: ShortHost | None = None) -> bool:
        return obj is None and super().has_change_permission(request)  # its links are printed

    def save_model(self, request: HttpRequest, obj: ShortHost, form: Any, change: Any) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(short_hosts.invalidate_cache)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Of links that are there nothing is listed: there may be millions."""
        used = [host for host in objs if Link.objects.filter(host=host).exists()]
        if not used:
            return super().get_deleted_objects(objs, request)
        words = _("%(host)s has links that would stop working")
        return [str(host) for host in used], {}, set(), [words % {"host": one} for one in used]

    def delete_model(self, request: HttpRequest, obj: ShortHost) -> None:
        Company.objects.filter(link_host=obj.host).update(link_host="")
        super().delete_model(request, obj)
        transaction.on_commit(short_hosts.invalidate_cache)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ShortHost]) -> None:
        for host in queryset:
            self.delete_model(request, host)


class BlockedHostForm(SiteModelForm):
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
class BlockedHostAdmin(ModelAdmin):
    form = BlockedHostForm
    list_display = ("host", "reason", "created_at")
    search_fields = ("host__icontains",)
    ordering = ("-created_at",)
    actions = ("disable_links",)

    def save_model(self, request: HttpRequest, obj: BlockedHost, form: Any, change: Any) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(target_urls.invalidate_blocked_sites)

    def delete_model(self, request: HttpRequest, obj: BlockedHost) -> None:
        super().delete_model(request, obj)
        transaction.on_commit(target_urls.invalidate_blocked_sites)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[BlockedHost]) -> None:
        super().delete_queryset(request, queryset)
        transaction.on_commit(target_urls.invalidate_blocked_sites)

    @admin.action(description=_("Disable links that lead there"), permissions=["disable"])
    def disable_links(
        self, request: HttpRequest, sites: QuerySet[BlockedHost]
    ) -> HttpResponse | None:
        names = list(sites.values_list("host", flat=True))
        if "confirmed" not in request.POST:
            return self._ask(request, names)
        user, ip = operator(request), client_ip(request.META)
        count = sum(blocked_site_links.disable_links_to(name, user=user, ip=ip) for name in names)
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
            "counts": [(name, blocked_site_links.count_links_to(name)) for name in names],
            "chosen": request.POST.getlist("_selected_action"),
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/links/blocked_links.html", context)

    def has_disable_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("links.change_link")
