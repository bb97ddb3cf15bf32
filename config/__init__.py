"""Settings, routes and processes. Importing it binds `shared_task` to our Celery application."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
