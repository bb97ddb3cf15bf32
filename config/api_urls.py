"""Every path of the public API. A trailing slash is accepted; nothing is redirected."""

from django.urls import re_path
from django.urls.resolvers import URLPattern

from api.base_view import ApiView, NotFoundView
from api_docs.schema.schema import OpenApi
from billing.web.api import Balance, Documents, Seals, TopUp, TopUpOptions, TopUps
from channels.web.api import Channels, Lookup, MessageDetail, Messages, TestMessages
from channels.web.policy.api import Policy, PreviewPolicy
from links.api.views import (
    Batch,
    BulkLinks,
    LinkDetail,
    Links,
    LinkStats,
    ReleaseBatch,
    SendLink,
    Shorten,
)
from otp.web.api import (
    CheckCode,
    Evidence,
    Feedback,
    NextChannel,
    SendCode,
    VerificationDetail,
    VerificationList,
)
from persons.web.api import ErasePerson, ExportPerson
from webhooks.api import RotateWebhook, TestWebhook, WebhookDetail, Webhooks

VIEWS: tuple[type[ApiView], ...] = (
    SendCode,
    CheckCode,
    Feedback,
    VerificationList,
    VerificationDetail,
    Evidence,
    NextChannel,
    Shorten,
    SendLink,
    BulkLinks,
    Links,
    LinkDetail,
    LinkStats,
    Batch,
    ReleaseBatch,
    Balance,
    Seals,
    Documents,
    TopUps,
    TopUpOptions,
    TopUp,
    Channels,
    Lookup,
    Messages,
    MessageDetail,
    TestMessages,
    Policy,
    PreviewPolicy,
    Webhooks,
    WebhookDetail,
    RotateWebhook,
    TestWebhook,
    ExportPerson,
    ErasePerson,
)

# Paths without an id, with and without a trailing slash.
FIXED_PATHS = tuple(
    f"/api/v1{view.path()}{slash}"
    for view in VIEWS
    if "{" not in view.path()
    for slash in ("", "/")
)

# Formerly documented paths that still work. They are ambiguous with links/{id}, so generators of
# clients and linters reject them.
DEPRECATED_PATHS: list[tuple[str, type[ApiView]]] = [
    ("/links/batches/{id}", Batch),
    ("/links/batches/{id}/release", ReleaseBatch),
]


def _route(path: str) -> str:
    """The regular expression of a call's path."""
    pattern = path.replace("{id}", "(?P<public_id>[^/]+)").replace("{phone}", "(?P<phone>[^/]+)")
    return f"^v1{pattern}/?$"


urlpatterns: list[URLPattern] = [
    *(re_path(_route(view.path()), view.as_view()) for view in VIEWS),
    *(re_path(_route(path), view.as_view()) for path, view in DEPRECATED_PATHS),
    re_path(r"^v1/openapi\.json$", OpenApi.as_view(), name="openapi"),
    re_path(r"", NotFoundView.as_view()),
]
