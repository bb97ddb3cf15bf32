"""The web process: short links are followed in front of Django, all else goes through it."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import resolve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django_application = get_wsgi_application()

from accounts import keys  # noqa: E402 - Django comes first
from channels import availability, heartbeats, waiting  # noqa: E402
from config.celery import cap_publishing  # noqa: E402
from config.chunked import Measured  # noqa: E402
from links import hosts  # noqa: E402
from links.redirect import Redirects  # noqa: E402

cap_publishing()
keys.keep_fresh()
availability.keep_fresh()
hosts.keep_fresh()
heartbeats.keep_beating("web", waiting.facts)
application = Redirects(Measured(django_application))
resolve("/livez")  # imports every view, now rather than in the first request
gc.collect()
gc.freeze()  # all of that stays: no later collection need look through it
