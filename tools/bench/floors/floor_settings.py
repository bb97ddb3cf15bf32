"""The floors' settings: the product's own, its database above all, and nothing in the way."""

from config.settings import *  # noqa: F403

MIDDLEWARE = []
INSTALLED_APPS = [  # those whose models the statements' modules import
    "accounts",
    "billing",
    "channels",
    "otp",
    "links",
    "django.contrib.auth",
    "django.contrib.contenttypes",
]
ROOT_URLCONF = "tools.bench.floors.views"
WSGI_APPLICATION = "tools.bench.floors.floor_wsgi.application"
