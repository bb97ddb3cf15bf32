"""`python -m config.edge`: short links beside a Redis replica; it takes granian's options."""

import os

from config import web_server

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.edge.settings"
    web_server.main("config.edge.wsgi:gateway")
