"""`python -m config.edge.metrics`: serves Prometheus the sums of an edge's processes."""

import os
import signal
import sys
import threading
from typing import Any

import django
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

os.environ["DJANGO_SETTINGS_MODULE"] = "config.edge.settings"


def main() -> None:
    django.setup()
    from config.edge import settings  # noqa: PLC0415 - Django comes first
    from config.monitoring import metrics  # noqa: PLC0415

    if settings.METRICS_PORT is None:
        sys.exit("METRICS_PORT is empty: nothing is counted, nothing to serve.")
    registry: Any = CollectorRegistry()
    collect: Any = MultiProcessCollector  # not typed
    collect(registry, str(metrics.directory()))
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    start_http_server(settings.METRICS_PORT, settings.METRICS_HOST, registry=registry)
    stopping.wait()


if __name__ == "__main__":
    main()
