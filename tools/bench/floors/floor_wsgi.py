"""The web process of the floors."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "tools.bench.floors.floor_settings"
application = get_wsgi_application()
