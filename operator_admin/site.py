"""The `AdminSite`: behind a second factor, with its own pages next to those of the models."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, resolve_url
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.people.cabinet_access import redirect_to_provider
from accounts.security import sessions
from operator_admin import figures, second_factor

APP_ORDER = ["channels", "accounts", "billing", "links", "otp"]  # order on the index page
APP_NAMES = {"socialaccount": _("Single sign-on")}  # libraries whose own names are misleading
View = Callable[..., HttpResponse]
pages: list[tuple[str, str, View]] = []
_shown: dict[str, tuple[str, ...]] = {}  # page name → models


def page(
    route: str, name: str, *shows: str, permission: str | None = None
) -> Callable[[View], View]:
    """Registers a view as `admin:<name>`.

    It requires `permission`, and the right to view or change one of the models that it shows, such
    as `channels.provideraccount`. A view without either checks permissions itself.
    """

    def register(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            has_it = permission is None or request.user.has_perm(permission)
            if not has_it or not may_open(request.user, name):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        _shown[name] = shows
        pages.append((route, name, guarded))
        return view

    return register


def may_open(user: Any, name: str) -> bool:
    models = [model.split(".") for model in _shown.get(name, ())]
    permissions = [f"{app}.{verb}_{model}" for app, model in models for verb in ("view", "change")]
    return not permissions or any(map(user.has_perm, permissions))


def page_response(
    request: HttpRequest, template: str, title: object, context: dict[str, Any]
) -> TemplateResponse:
    """Renders a page of the admin with a template of `operator_admin/`."""
    shared = {**admin.site.each_context(request), "title": title}
    return TemplateResponse(request, f"operator_admin/{template}.html", shared | context)


def page_context(name: str, rows: Sequence[Any], number: int, size: int) -> dict[str, Any]:
    """The rows of a page, of which one more was read, and the numbers of the adjacent pages."""
    return {
        name: rows[:size],
        "older": number + 1 if len(rows) > size else None,
        "newer": number - 1 if number else None,
    }


class OperatorAdminSite(admin.AdminSite):
    site_header = "Kvitok"
    site_title = "Kvitok"
    index_title = _("Today")
    index_template = "operator_admin/today.html"
    empty_value_display = "—"
    enable_nav_sidebar = False  # the menu has the everyday pages, the index all others

    def has_permission(self, request: HttpRequest) -> bool:
        user = request.user
        if not isinstance(user, User) or not super().has_permission(request):
            return False
        return is_in_force(request, user) and second_factor.is_verified(request, user)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        next_url = _redirect_target(request)
        user = request.user
        if not isinstance(user, User):
            login_url = resolve_url(settings.LOGIN_URL)
            return HttpResponseRedirect(f"{login_url}?{urlencode({REDIRECT_FIELD_NAME: next_url})}")
        if not super().has_permission(request):
            raise PermissionDenied
        if not is_in_force(request, user):
            return redirect_to_provider(next_url)
        if not second_factor.is_verified(request, user):
            return second_factor.redirect_to_factor(request, user, next_url)
        return HttpResponseRedirect(next_url)

    def password_change(  # type: ignore[override]  # leads elsewhere
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirects to the cabinet's page, which reauthenticates, audits and notifies."""
        return redirect("account_change_password")

    def logout(  # type: ignore[override]  # shows no page of its own
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":
            # Audits, and clears the session's reauthentication
            get_adapter(request).logout(request)
        return redirect(settings.LOGOUT_REDIRECT_URL)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if settings.OPERATOR_MFA:
                second_factor.require_reauthentication(request)
            _drop_empty_field(request)
            response: HttpResponse = view(request, *args, **kwargs)
            return response

        return super().admin_view(guarded, cacheable)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        return super().index(request, {"today": figures.today(), **(extra_context or {})})

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        apps: list[dict[str, Any]] = super().get_app_list(request, app_label)
        for app in apps:
            app["name"] = APP_NAMES.get(app["app_label"], app["name"])
        return sorted(apps, key=_app_position)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        own_urls = [path(route, self.admin_view(view), name=name) for route, name, view in pages]
        return [*own_urls, *super().get_urls()]


def is_in_force(request: HttpRequest, user: User) -> bool:
    """Whether the user's rights apply in this session. Rights from the identity provider apply only
    in its sessions; with OIDC_REQUIRED_FOR_ADMIN so do all.
    """
    is_bound = user.is_staff_from_provider or settings.OIDC_REQUIRED_FOR_ADMIN
    return not is_bound or sessions.is_from_provider(request, user)


def _app_position(app: dict[str, Any]) -> int:
    return APP_ORDER.index(app["app_label"]) if app["app_label"] in APP_ORDER else len(APP_ORDER)


def _drop_empty_field(request: HttpRequest) -> None:
    """Removes an empty parameter, for which Django would look up a field without a name."""
    for name in ("GET", "POST"):
        values: QueryDict = getattr(request, name)
        if values.get(TO_FIELD_VAR) == "":
            others = values.copy()
            del others[TO_FIELD_VAR]
            setattr(request, name, others)


def _redirect_target(request: HttpRequest) -> str:
    next_url = request.GET.get(REDIRECT_FIELD_NAME, "")
    is_ours = url_has_allowed_host_and_scheme(
        next_url, {request.get_host()}, require_https=request.is_secure()
    )
    return next_url if is_ours else reverse("admin:index")
