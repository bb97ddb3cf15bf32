"""allauth's second step of signing in, left out where the provider is trusted with it."""

from allauth.mfa.stages import AuthenticateStage as AllauthAuthenticateStage
from django.http import HttpRequest

from accounts.models import User
from accounts.security import provider_sessions


class AuthenticateStage(AllauthAuthenticateStage):
    def _should_handle(self, request: HttpRequest) -> bool:
        user = self.login.user
        if isinstance(user, User) and provider_sessions.has_provider_factor(request, user):
            return False
        return bool(super()._should_handle(request))
