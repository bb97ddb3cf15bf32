"""The pages of the cabinet about a company and its people, and those of one's own account."""

from django.urls import include, path

from accounts.oidc import views as oidc_views
from accounts.security import views as security_views
from cabinet import (
    audit_log,
    member_views,
    request_views,
    saved_filters,
    settings_views,
    views,
)
from cabinet import profile as profile_views
from cabinet import search as search_views
from webhooks import views as webhook_views

_cabinet = [
    path("language", views.language, name="language"),
    path("company/new", views.company_create, name="company-create"),
    path("company/switch", views.company_switch, name="company-switch"),
    path("company/second-factor", views.second_factor_required, name="second-factor-required"),
    path("keys", views.key_list, name="key-list"),
    path("keys/new", views.key_create, name="key-create"),
    path("keys/<int:pk>/rotate", views.key_rotate, name="key-rotate"),
    path("keys/<int:pk>/revoke", views.key_revoke, name="key-revoke"),
    path("requests", request_views.request_list, name="request-list"),
    path("requests/<str:request_id>", request_views.request_detail, name="request-detail"),
    path("filters/new", saved_filters.saved_filter_create, name="saved-filter-create"),
    path(
        "filters/<int:pk>/delete",
        saved_filters.saved_filter_delete,
        name="saved-filter-delete",
    ),
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
    path(
        "members/<int:pk>/sessions",
        member_views.member_sessions_page,
        name="member-sessions",
    ),
    path("invitations/<int:pk>/revoke", member_views.invitation_revoke, name="invitation-revoke"),
    path("join/<str:token>", member_views.invitation_join, name="invitation-join"),
    path("audit", audit_log.audit_list, name="audit-list"),
    path("audit.csv", audit_log.audit_export, name="audit-export"),
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
]
