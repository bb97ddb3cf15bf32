"""Two edges as processes, each beside a replica of the Redis that has the origin's links."""

import os
import re
import secrets
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import redis
import requests
from django.conf import settings
from django.test import override_settings

from config.storage import redis_client
from config.storage.redis_client import links_redis_client
from tests.links.visiting import BROWSER_HEADERS, FORM
from tests.ports import free_port
from tests.redis_servers import RedisServer
from tests.stack.programs import Program, wait_until
from tests.stack.stack import Stack

SHORT_HOST = "go.edge.example"
MAX_STALENESS = 10  # seconds: the least that there is
MISS_RATE = 20
PASSWORD = secrets.token_hex(16)
_NONCE = re.compile(rb'name="nonce" value="[^"]+"')


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def without_nonce(self) -> "Answer":
        return Answer(self.status, self.headers, _NONCE.sub(b"", self.body))


def ask(
    url: str,
    path: str,
    *,
    method: str = "GET",
    host: str = SHORT_HOST,
    form: dict[str, str] | None = None,
    **headers: str,
) -> Answer:
    """A visitor's request, behind one proxy."""
    given = {"Host": host, "X-Forwarded-For": "203.0.113.9"} | BROWSER_HEADERS | headers
    if form is not None:
        given["Content-Type"] = FORM
    body = urlencode(form) if form else None
    answered = requests.request(
        method, f"{url}/{path}", headers=given, data=body, allow_redirects=False, timeout=30
    )
    known = {name.lower(): value for name, value in answered.headers.items()}
    known.pop("date")
    return Answer(answered.status_code, known, answered.content)


class Edge:
    def __init__(self, name: str, links: RedisServer, environ: dict[str, str], logs: Path) -> None:
        replica_of = ["--replicaof", "127.0.0.1", str(links.port)]
        self.replica = RedisServer(logs / f"{name}-redis", replica_of)
        self.url = f"http://127.0.0.1:{free_port()}"
        own = {
            "EDGE_REPLICA_URL": self.replica.url,
            "METRICS_PORT": str(free_port()),
            "METRICS_DIR": str(logs / f"{name}-metrics"),
        }
        self.program = Program(
            ["-m", "config.edge", "--host", "127.0.0.1", "--port", self.url.rpartition(":")[2]],
            log=logs / f"{name}.log",
            environ=environ | own,
            url=f"{self.url}/readyz",
        )
        self.program.die = signal.SIGTERM
        self.metrics_url = f"http://127.0.0.1:{own['METRICS_PORT']}/metrics"
        self.metrics = Program(
            ["-m", "config.edge.metrics"],
            log=logs / f"{name}-metrics.log",
            environ=environ | own,
            url=self.metrics_url,
        )

    def ask(self, path: str, **options: Any) -> Answer:
        return ask(self.url, path, **options)

    def start(self) -> None:
        self.replica.start()
        self.program.start()

    def stop(self) -> None:
        self.program.kill()
        self.replica.kill()

    def checks(self) -> dict[str, str]:
        found: dict[str, str] = requests.get(f"{self.url}/readyz", timeout=5).json()["checks"]
        return found

    def is_whole(self) -> bool:
        return set(self.checks().values()) == {"ok"}


@dataclass(frozen=True)
class EdgeStack:
    stack: Stack
    links: RedisServer  # the master of what edges replicate
    edges: tuple[Edge, Edge]
    origin_environ: dict[str, str]

    @property
    def origin(self) -> str:
        return self.stack.url

    def ask_each(self, path: str, **options: Any) -> list[Answer]:
        return [edge.ask(path, **options) for edge in self.edges]

    def start_origin(self) -> None:
        self.stack.web.kill()
        self.stack.web.start(**self.origin_environ)

    @contextmanager
    def without_origin(self) -> Iterator[None]:
        self.stack.web.kill()
        try:
            yield
        finally:
            self.start_origin()
            self.wait_whole()

    def wait_whole(self) -> None:
        for edge in self.edges:
            wait_until(edge.is_whole, instead=edge.checks)

    def forbid_clicks(self) -> None:
        """Cuts the edges off from the master, with the connections that they have."""
        with redis.Redis.from_url(self.stack.redis.url) as client:
            client.acl_deluser("edge")

    def allow_clicks(self) -> None:
        """A user that may add to the stream of clicks and do nothing else."""
        with redis.Redis.from_url(self.stack.redis.url) as client:
            rules = ["on", f">{PASSWORD}", "~clicks", "-@all", "+xadd"]
            client.execute_command("ACL", "SETUSER", "edge", "reset", *rules)


@contextmanager
def edge_stack(stack: Stack, logs: Path) -> Iterator[EdgeStack]:
    token = f"e1:{secrets.token_hex(32)}"
    links = RedisServer(logs / "links-redis")
    origin = {
        "SHORT_URL": f"http://{SHORT_HOST}",
        "LINKS_REDIS_URL": links.url,
        "EDGE_TOKENS": token,
    }
    environ = {
        "PATH": os.environ["PATH"],
        "ENVIRONMENT": "test",
        "LOG_LEVEL": "INFO",
        "PUBLIC_URL": stack.url,
        "SHORT_URL": f"http://{SHORT_HOST}",
        "TRUSTED_PROXY_COUNT": "1",
        "EDGE_TOKEN": token,
        "EDGE_MAX_STALENESS": str(MAX_STALENESS),
        "EDGE_MISS_RATE": str(MISS_RATE),
        "REDIS_URL": stack.redis.url.replace("unix://", f"unix://edge:{PASSWORD}@"),
        "REDIS_TIMEOUT": "1",  # a busy machine
    }
    first, second = (Edge(f"edge-{number}", links, environ, logs) for number in (1, 2))
    made = EdgeStack(stack, links, (first, second), origin)
    with ExitStack() as opened:
        opened.callback(links.kill)
        links.start()
        opened.enter_context(_links_in(links.url))
        made.allow_clicks()
        opened.callback(stack.web.start)
        opened.callback(stack.web.kill)
        made.start_origin()
        for edge in made.edges:
            opened.callback(edge.stop)
            edge.start()
        made.wait_whole()
        yield made


@contextmanager
def _links_in(url: str) -> Iterator[None]:
    """What this process changes is published where the edges hear it."""
    known = (redis_client._links_client, redis_client._blocking_links_client)
    with override_settings(LINKS_REDIS_URL=url, SHORT_URL=f"http://{SHORT_HOST}"):
        assert settings.LINKS_REDIS_URL
        assert links_redis_client().ping()
        yield
    for client in known:
        client.cache_clear()
