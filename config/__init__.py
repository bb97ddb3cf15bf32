"""Settings, routes and entry points. Importing it binds `shared_task` to our Celery app."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
