"""The web process: answers short links and machines' calls before Django, and pages through it.

`python -m config.web_server` serves `gateway`; `application` is for any other WSGI server.
"""

import gc
import os

import django
from django.urls import resolve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from accounts.keys import api_keys  # noqa: E402
from api.body_admission import admit, refuse  # noqa: E402 - Django comes first
from billing import message_prices  # noqa: E402
from channels.deliver import heartbeats  # noqa: E402
from channels.routing.learned import learned_router  # noqa: E402
from channels.vendor_accounts import availability  # noqa: E402
from channels.waiting import outcome_signals  # noqa: E402
from config.api_urls import FIXED_PATHS  # noqa: E402
from config.celery import cap_publishing  # noqa: E402
from links.addresses import short_hosts  # noqa: E402
from links.follow.redirect import RedirectMiddleware  # noqa: E402
from operator_admin.alerts import watchdog  # noqa: E402
from operator_admin.incidents import notices  # noqa: E402
from processes.monitoring import metrics  # noqa: E402
from processes.server.direct_calls import BoundedHandler, DirectCalls  # noqa: E402
from processes.server.gateway import Gateway  # noqa: E402
from processes.server.https import TransportSecurity, respond_securely  # noqa: E402
from processes.server.request_bodies import BodyLimits  # noqa: E402

cap_publishing()
metrics.start()
api_keys.start_refresh_thread()
availability.keep_fresh()
short_hosts.keep_fresh()
message_prices.keep_fresh()
learned_router.keep_fresh()
notices.keep_fresh()
heartbeats.start_heartbeat("web", outcome_signals.details)
watchdog.start()
direct_calls = DirectCalls(BoundedHandler(), FIXED_PATHS)
redirects = RedirectMiddleware(direct_calls)
application = TransportSecurity(redirects, refuse)
gateway = Gateway(
    application,
    admit=admit,
    refuse=refuse,
    bounds=BodyLimits.from_settings(),
    respond_early=respond_securely(redirects.respond_early),
)
resolve("/livez")  # imports every view now, not during the first request
gc.collect()
gc.freeze()  # later collections skip all objects that exist now
