"""The web process of the floors: no middleware runs in it."""

import os

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler

os.environ["DJANGO_SETTINGS_MODULE"] = "tools.bench.floors.floor_settings"
django.setup()
settings.MIDDLEWARE = []  # emptied after setup, whose checks require some
application = WSGIHandler()
