from django.urls import include, path

from accounts.cabinet import (
    member_session_views,
    member_views,
    request_views,
    settings_views,
    views,
)
from accounts.cabinet.audit import views as audit_views
from accounts.cabinet.profile import unsubscribe_views
from accounts.cabinet.profile import views as profile_views
from accounts.cabinet.saved_filters import views as saved_filter_views

urlpatterns = [
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
    path("filters/new", saved_filter_views.saved_filter_create, name="saved-filter-create"),
    path(
        "filters/<int:pk>/delete",
        saved_filter_views.saved_filter_delete,
        name="saved-filter-delete",
    ),
    path(
        "letters/unsubscribe/<str:token>",
        unsubscribe_views.notice_unsubscribe,
        name="notice-unsubscribe",
    ),
    path("profile", profile_views.profile, name="profile"),
    path("settings", settings_views.settings, name="settings"),
    path("", include("accounts.search.urls")),
    path("", include("accounts.webhooks.urls")),
    path("members", member_views.member_list, name="member-list"),
    path("members/invite", member_views.member_invite, name="member-invite"),
    path("members/<int:pk>/role", member_views.member_role, name="member-role"),
    path("members/<int:pk>/remove", member_views.member_remove, name="member-remove"),
    path(
        "members/<int:pk>/sessions",
        member_session_views.member_sessions_page,
        name="member-sessions",
    ),
    path("invitations/<int:pk>/revoke", member_views.invitation_revoke, name="invitation-revoke"),
    path("join/<str:token>", member_views.invitation_join, name="invitation-join"),
    path("audit", audit_views.audit_list, name="audit-list"),
    path("audit.csv", audit_views.audit_export, name="audit-export"),
]
