from django.urls import include, path

from accounts import views

urlpatterns = [
    path("language", views.language, name="language"),
    path("company/new", views.company_create, name="company-create"),
    path("company/switch", views.company_switch, name="company-switch"),
    path("keys", views.key_list, name="key-list"),
    path("keys/new", views.key_create, name="key-create"),
    path("keys/<int:pk>/rotate", views.key_rotate, name="key-rotate"),
    path("keys/<int:pk>/revoke", views.key_revoke, name="key-revoke"),
    path("settings", views.settings, name="settings"),
    path("", include("accounts.callbacks.urls")),
]
