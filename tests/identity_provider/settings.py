"""Gives a right to a group of the identity provider."""

from pytest_django import Settings

from config.environment.oidc_settings import parse_roles


def grant(settings: Settings, group: str, right: str) -> None:
    settings.OIDC_ROLES = (*settings.OIDC_ROLES, *parse_roles(f"{group}={right}"))
