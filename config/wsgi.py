"""The web process: short links are followed in front of Django, all else goes through it."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django_application = get_wsgi_application()

from config.celery import cap_publishing  # noqa: E402 - Django comes first
from config.chunked import Measured  # noqa: E402
from links.redirect import Redirects  # noqa: E402

cap_publishing()
application = Redirects(Measured(django_application))
