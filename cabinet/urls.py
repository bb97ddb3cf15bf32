"""The cabinet's pages about a company and its people, and about the user's own account."""

from collections.abc import Callable
from typing import Any

from allauth.account import views as account_views
from allauth.mfa.base import views as factor_views
from allauth.mfa.totp import views as totp_views
from django.http import HttpResponse
from django.urls import URLPattern, include, path, reverse_lazy
from django.utils.translation import gettext_lazy as _

from accounts.form_pages import PageLink
from accounts.oidc import views as oidc_views
from accounts.people import profile as profile_views
from accounts.security import views as security_views
from cabinet import (
    audit_log,
    csv_export_views,
    member_views,
    request_views,
    saved_filters,
    settings_views,
    views,
)
from cabinet import search as search_views
from webhooks import views as webhook_views

_cabinet = [
    path("language", views.language, name="language"),
    path("company/new", views.company_create, name="company-create"),
    path("company/switch", views.company_switch, name="company-switch"),
    path("company/second-factor", views.second_factor_required, name="second-factor-required"),
    path("keys", views.key_list, name="key-list"),
    path("keys/new", views.key_create, name="key-create"),
    path("keys/new/client", views.client_key_create, name="key-create-client"),
    path("keys/<int:pk>/rotate", views.key_rotate, name="key-rotate"),
    path("keys/<int:pk>/revoke", views.key_revoke, name="key-revoke"),
    path("requests", request_views.request_list, name="request-list"),
    path("requests/<str:request_id>", request_views.request_detail, name="request-detail"),
    path("filters/new", saved_filters.saved_filter_create, name="saved-filter-create"),
    path("filters/<int:pk>/delete", saved_filters.saved_filter_delete, name="saved-filter-delete"),
    path(
        "letters/unsubscribe/<str:token>",
        profile_views.notice_unsubscribe,
        name="notice-unsubscribe",
    ),
    path("profile", profile_views.profile, name="profile"),
    path("settings", settings_views.settings, name="settings"),
    path("search", search_views.search, name="search"),
    path("search/suggestions", search_views.search_suggestions, name="search-suggestions"),
    path("webhooks", webhook_views.webhook_list, name="webhook-list"),
    path("webhooks/new", webhook_views.webhook_create, name="webhook-create"),
    path("webhooks/<str:public_id>", webhook_views.webhook_detail, name="webhook-detail"),
    path("webhooks/<str:public_id>/edit", webhook_views.webhook_edit, name="webhook-edit"),
    path("webhooks/<str:public_id>/switch", webhook_views.webhook_switch, name="webhook-switch"),
    path("webhooks/<str:public_id>/rotate", webhook_views.webhook_rotate, name="webhook-rotate"),
    path("webhooks/<str:public_id>/delete", webhook_views.webhook_delete, name="webhook-delete"),
    path("webhooks/<str:public_id>/test", webhook_views.webhook_test, name="webhook-test"),
    path("webhooks/<str:public_id>/replay", webhook_views.webhook_replay, name="webhook-replay"),
    path("deliveries/<str:public_id>", webhook_views.delivery_detail, name="delivery-detail"),
    path(
        "deliveries/<str:public_id>/status", webhook_views.delivery_status, name="delivery-status"
    ),
    path(
        "deliveries/<str:public_id>/replay", webhook_views.delivery_replay, name="delivery-replay"
    ),
    path("members", member_views.member_list, name="member-list"),
    path("members/invite", member_views.member_invite, name="member-invite"),
    path("members/<int:pk>/role", member_views.member_role, name="member-role"),
    path("members/<int:pk>/remove", member_views.member_remove, name="member-remove"),
    path("members/<int:pk>/sessions", member_views.member_sessions_page, name="member-sessions"),
    path("invitations/<int:pk>/revoke", member_views.invitation_revoke, name="invitation-revoke"),
    path("join/<str:token>", member_views.invitation_join, name="invitation-join"),
    path("audit", audit_log.audit_list, name="audit-list"),
    path("audit.csv", csv_export_views.csv_export, {"kind": "audit"}, name="audit-export"),
    path("files", csv_export_views.csv_files, name="csv-files"),
    path("files/<uuid:pk>", csv_export_views.csv_file_status, name="csv-file-status"),
    path("files/<uuid:pk>.csv", csv_export_views.csv_file, name="csv-file"),
    path("files/<uuid:pk>/delete", csv_export_views.csv_file_delete, name="csv-file-delete"),
    path("files/<slug:kind>", csv_export_views.csv_file_request, name="csv-file-request"),
]


def _page_path(
    route: str, view: Any, name: str, template: str = "notice.html", **context: Any
) -> URLPattern:
    page: Callable[..., HttpResponse] = view.as_view(template_name=template, extra_context=context)
    return path(route, page, name=name)


# allauth's pages that two shared templates are enough for. They come first, with allauth's own URLs
# and names.
_FORM = "cabinet/form.html"
_account = [
    _page_path(
        "inactive/",
        account_views.AccountInactiveView,
        "account_inactive",
        title=_("The account is switched off"),
        text=_("Contact the operator of this service if you think this is a mistake."),
    ),
    _page_path(
        "confirm-email/",
        account_views.EmailVerificationSentView,
        "account_email_verification_sent",
        leads_to_sign_in=True,
        title=_("Confirm your e-mail address"),
        text=_(
            "We have sent you an e-mail with a link. Open it, and your account is ready. "
            "Nothing there? Check your spam folder."
        ),
    ),
    _page_path(
        "password/reset/done/",
        account_views.PasswordResetDoneView,
        "account_reset_password_done",
        leads_to_sign_in=True,
        title=_("The e-mail is on its way"),
        text=_(
            "If there is an account with this e-mail, a link to choose a new password will "
            "arrive within a few minutes. Check your spam folder too."
        ),
    ),
    _page_path(
        "password/reset/key/done/",
        account_views.PasswordResetFromKeyDoneView,
        "account_reset_password_from_key_done",
        title=_("The password is changed"),
        text=_("Sign in with the new one."),
        action=PageLink(reverse_lazy("account_login"), _("Sign in")),
    ),
    _page_path(
        "password/change/",
        account_views.PasswordChangeView,
        "account_change_password",
        _FORM,
        title=_("Password"),
        verb=_("Change the password"),
    ),
    _page_path(
        "password/set/",
        account_views.PasswordSetView,
        "account_set_password",
        _FORM,
        title=_("Password"),
        verb=_("Set the password"),
    ),
    _page_path(
        "2fa/reauthenticate/",
        factor_views.ReauthenticateView,
        "mfa_reauthenticate",
        "account/reauthenticate.html",
    ),
    _page_path(
        "2fa/totp/deactivate/",
        totp_views.DeactivateTOTPView,
        "mfa_deactivate_totp",
        _FORM,
        title=_("Disconnect the app"),
        texts=[
            _(
                "Its codes will no longer be asked for when you sign in. Without passkeys, "
                "your recovery codes are removed too."
            )
        ],
        verb=_("Disconnect"),
        is_dangerous=True,
        back=PageLink(reverse_lazy("mfa_index"), _("Two-step sign-in")),
    ),
]
_single_sign_on = [
    path("start", oidc_views.start, name="sso-start"),
    path("callback", oidc_views.callback, name="sso-callback"),
    path("required", oidc_views.required, name="sso-required"),
    path("confirm", oidc_views.reauthenticate, name="sso-reauthenticate"),
    path("connect", oidc_views.connect, name="sso-connect"),
    path("disconnect", oidc_views.disconnect, name="sso-disconnect"),
    path("", oidc_views.identity, name="sso-identity"),
]

urlpatterns = [
    path("cabinet/", include(_cabinet)),
    path("account/sessions/", security_views.session_list, name="session-list"),
    path("account/sessions/<int:pk>/end/", security_views.session_end, name="session-end"),
    path(
        "account/sessions/end-others/", security_views.session_end_others, name="session-end-others"
    ),
    path("account/sso/", include(_single_sign_on)),
    path("account/", include(_account)),
]
