"""`manage.py run_metrics`: serves Prometheus metrics in its own process, on its own port."""

import signal
import threading
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from prometheus_client import start_http_server

from operator_admin.prometheus import collector_registry


class Command(BaseCommand):
    help = "Serve /metrics on METRICS_HOST:METRICS_PORT until stopped; keep the port private."

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.METRICS_PORT is None:
            raise CommandError("METRICS_PORT is empty: there are no metrics to serve.")
        stopping = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopping.set())
        server, thread = start_http_server(
            settings.METRICS_PORT, settings.METRICS_HOST, registry=collector_registry()
        )
        self.stdout.write(f"http://{settings.METRICS_HOST}:{settings.METRICS_PORT}/metrics")
        self.stdout.flush()
        with suppress(KeyboardInterrupt):
            stopping.wait()
        server.shutdown()
        thread.join(5)
