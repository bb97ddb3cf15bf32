from django.urls import path

from accounts.oidc import account_views, views

urlpatterns = [
    path("start", views.start, name="sso-start"),
    path("callback", views.callback, name="sso-callback"),
    path("required", views.required, name="sso-required"),
    path("confirm", account_views.reauthenticate, name="sso-reauthenticate"),
    path("connect", account_views.connect, name="sso-connect"),
    path("disconnect", account_views.disconnect, name="sso-disconnect"),
    path("", account_views.identity, name="sso-identity"),
]
