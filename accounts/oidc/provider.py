"""allauth's OpenID Connect provider with our discovery and PKCE; stores little about a person."""

from typing import Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from accounts.oidc import discovery, tokens

ID = "oidc"


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """The app from the settings, never one from the database, which admins could point
        elsewhere.
        """
        app = SocialApp(
            provider=ID,
            provider_id=settings.OIDC_ISSUER,  # of accounts: a `sub` is unique per issuer
            name=settings.OIDC_NAME,
            client_id=settings.OIDC_CLIENT_ID,
            settings={"server_url": settings.OIDC_ISSUER},
        )
        is_requested = provider in {None, ID, settings.OIDC_ISSUER}
        return [app] if settings.OIDC_ISSUER and is_requested else []

    def is_open_for_signup(self, request: HttpRequest, sociallogin: object) -> bool:
        return False  # only accounts.oidc.identities creates users


class OAuth2Adapter(OpenIDConnectOAuth2Adapter):
    @property
    def openid_config(self) -> dict[str, Any]:
        return discovery.metadata()

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return redirect_uri()


class Provider(OpenIDConnectProvider):
    id = ID
    oauth2_adapter_class = OAuth2Adapter
    pkce_enabled_default = True

    def get_default_scope(self) -> list[str]:
        return list(settings.OIDC_SCOPES)

    def extract_extra_data(self, data: tokens.Claims) -> dict[str, str]:
        """The data that the pages show; nothing else from the provider is stored."""
        return {"email": tokens.email(data)}


def redirect_uri() -> str:
    """Built from PUBLIC_URL: the client controls the Host header."""
    return str(settings.PUBLIC_URL) + reverse("sso-callback")


provider_classes = [Provider]
