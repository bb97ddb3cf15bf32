"""The public API's table of calls. One trailing slash is tolerated, nothing is redirected."""

from django.urls import re_path
from django.urls.resolvers import URLPattern
from rest_framework.views import APIView

from accounts.api.base_view import NotFoundView
from accounts.webhooks.api import RotateWebhook, TestWebhook, WebhookDetail, Webhooks
from api_docs.schema.api import OpenApi
from billing.web.api import Balance, TopUp, TopUpOptions, TopUps
from channels.web.api import Channels, MessageDetail, Messages, TestMessages
from links.web.api import SendLink, Shorten
from links.web.batch_api import Batch, BulkLinks, ReleaseBatch
from links.web.link_api import LinkDetail, Links, LinkStats
from otp.web.api import CheckCode, SendCode

CALLS: list[tuple[str, type[APIView]]] = [
    ("otp/send", SendCode),
    ("otp/verify", CheckCode),
    ("links/shorten", Shorten),
    ("links/send", SendLink),
    ("links/bulk", BulkLinks),
    ("links", Links),
    (r"links/(?P<public_id>[^/]+)", LinkDetail),
    (r"links/(?P<public_id>[^/]+)/stats", LinkStats),
    (r"batches/(?P<public_id>[^/]+)", Batch),
    (r"batches/(?P<public_id>[^/]+)/release", ReleaseBatch),
    ("balance", Balance),
    ("top-up", TopUps),
    ("top-up/options", TopUpOptions),
    (r"top-up/(?P<public_id>[^/]+)", TopUp),
    ("channels", Channels),
    ("messages", Messages),
    (r"messages/(?P<public_id>[^/]+)", MessageDetail),
    ("test/messages", TestMessages),
    ("webhooks", Webhooks),
    (r"webhooks/(?P<public_id>[^/]+)", WebhookDetail),
    (r"webhooks/(?P<public_id>[^/]+)/rotate", RotateWebhook),
    (r"webhooks/(?P<public_id>[^/]+)/test", TestWebhook),
]

# Formerly documented paths that still work. They are ambiguous with links/{id}, which client
# generators and linters reject.
DEPRECATED_CALLS: list[tuple[str, type[APIView]]] = [
    (r"links/batches/(?P<public_id>[^/]+)", Batch),
    (r"links/batches/(?P<public_id>[^/]+)/release", ReleaseBatch),
]

urlpatterns: list[URLPattern] = [
    *(re_path(rf"^v1/{path}/?$", view.as_view()) for path, view in CALLS),
    *(re_path(rf"^v1/{path}/?$", view.as_view(schema=None)) for path, view in DEPRECATED_CALLS),
    re_path(r"^v1/openapi\.json$", OpenApi.as_view(), name="openapi"),
    re_path(r"", NotFoundView.as_view()),
]
