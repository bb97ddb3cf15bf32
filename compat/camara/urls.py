from django.urls import path

from compat.camara import tokens, views

ROOT = "one-time-password-sms"
# The last two are 2.0: as it is called until it is released, and as an alpha.
VERSIONS = ("v1", "vwip", "v2alpha1")

urlpatterns = [
    path("oauth2/token", tokens.Token.as_view()),
    *(
        path(f"{ROOT}/{version}/{name}", view.as_view(), {"version": version})
        for version in VERSIONS
        for name, view in (("send-code", views.SendCode), ("validate-code", views.ValidateCode))
    ),
]
