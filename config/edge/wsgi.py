"""What `python -m config.edge` serves."""

import gc
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "config.edge.settings"
django.setup()

from django.templatetags.static import static  # noqa: E402 - Django comes first

from config.edge import settings as edge_settings  # noqa: E402
from config.server.gateway import Gateway  # noqa: E402
from config.server.https import TransportSecurity, respond_securely  # noqa: E402
from config.server.refusals import refuse  # noqa: E402
from config.server.request_bodies import BodyLimits  # noqa: E402
from links.edge.application import EdgeApplication, EdgeOptions, admit  # noqa: E402

static("links.css")  # raises now, not at the first page, where `collectstatic` has not run
links = EdgeApplication(
    EdgeOptions(
        origin_url=edge_settings.EDGE_ORIGIN_URL,
        token=edge_settings.EDGE_TOKEN,
        replica_url=edge_settings.EDGE_REPLICA_URL,
        max_staleness=edge_settings.EDGE_MAX_STALENESS,
        miss_rate=edge_settings.EDGE_MISS_RATE,
    )
)
links.start()
application = TransportSecurity(links, refuse)
gateway = Gateway(
    application,
    admit=admit,
    refuse=refuse,
    bounds=BodyLimits.from_settings(),
    respond_early=respond_securely(links.respond_early),
)
gc.collect()
gc.freeze()
