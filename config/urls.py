"""Every path of the service; other paths are looked up as short links."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.urls.resolvers import URLPattern, URLResolver
from django.views.generic import RedirectView

from api.base_view import NotFoundView
from api_docs.pages.views import fill_key, home, llms, page_as_markdown
from api_docs.pages.views import page as docs_page
from api_docs.pages.views import search as docs_search
from billing.gateways.declarations import GATEWAYS
from billing.web import document_views, order_views, payment_webhooks, sandbox_views
from channels import vendor_webhooks
from compat.client_lines import client_lines
from config import health as health_endpoints
from identity_hooks.web import hook_view
from links.follow.redirect import follow
from operator_admin.incidents import views
from operator_admin.status import views as status_views
from otp.web import widget

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home, name="home"),
    path("api/", include("config.api_urls")),
    # Misspelt by programs, such as `BASE/` + `/api/v1`.
    re_path(r"^/*[aA][pP][iI](?:/|$)", NotFoundView.as_view()),
    *(
        path(f"hooks/{gateway.hook}", payment_webhooks.receive, {"gateway": gateway.name})
        for gateway in GATEWAYS.values()
        if gateway.hook
    ),
    path("compat/", include("compat.urls")),
    path("hooks/identity/<slug:kind>/<slug:url_id>", hook_view.receive_call),
    path("hooks/identity/<slug:kind>/<slug:url_id>/<slug:path_secret>", hook_view.receive_call),
    re_path(r"^hooks/identity/(?P<kind>[^/]*)", hook_view.refuse_path),
    path("hooks/<slug:hook>", vendor_webhooks.vendor_webhook),
    path("hooks/<slug:hook>/<slug:account>", vendor_webhooks.vendor_webhook),
    path("sandbox-gateway/<str:payment_id>", sandbox_views.page, name="sandbox-gateway"),
    path("invoices/<str:token>", order_views.invoice, name="invoice"),
    path("invoices/<str:token>/pdf", order_views.invoice_file, name="invoice-file"),
    path("documents/<str:token>.<str:kind>", document_views.public_file, name="document-file"),
    path("", include("cabinet.urls")),
    path("cabinet/", include("billing.web.urls")),
    path("cabinet/", include("channels.web.urls")),
    path("cabinet/", include("otp.web.urls")),
    path("cabinet/keys/client", client_lines, name="key-client"),
    path("cabinet/", include("links.web.urls")),
    path("cabinet/", include("identity_hooks.web.urls")),
    path("cabinet/", include("persons.web.urls")),
    path(
        "cabinet/notices/<int:incident>/<int:update>/hide",
        views.dismiss,
        name="notice-dismiss",
    ),
    path("account/", include("allauth.account.urls")),
    path("account/2fa/", include("allauth.mfa.urls")),
    path(  # where password managers look: https://www.w3.org/TR/change-password-url/
        ".well-known/change-password", RedirectView.as_view(pattern_name="account_change_password")
    ),
    path("admin/", admin.site.urls),
    path("cabinet", RedirectView.as_view(pattern_name="overview")),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("docs", docs_page, name="docs"),
    path("docs/", docs_page),
    path("docs/search", docs_search, name="docs-search"),
    path("docs/<slug:slug>/key", fill_key, name="docs-key"),
    path("docs/<slug:slug>.md", page_as_markdown, name="docs-markdown"),
    path("docs/<slug:slug>", docs_page, name="docs-page"),
    path("llms.txt", llms, name="llms"),
    path("status", status_views.page, name="status"),
    path("status/", RedirectView.as_view(pattern_name="status")),
    path("status.json", status_views.as_json, name="status-json"),
    path("status.atom", status_views.as_feed, name="status-feed"),
    path("otp/altcha.js", widget.script, {"file": "altcha.min.js"}, name="widget"),
    path("otp/altcha.ru.js", widget.script, {"file": "ru.js"}, name="widget-ru"),
    path("livez", health_endpoints.livez),
    path("readyz", health_endpoints.readyz),
    re_path(r"^(?P<slug>[^/]+)/?$", follow, name="follow"),
]
