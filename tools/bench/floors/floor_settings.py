"""The floors' settings: the product's, with its database, but the floors' views."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tools.bench.floors.views"
WSGI_APPLICATION = "tools.bench.floors.floor_wsgi.application"
