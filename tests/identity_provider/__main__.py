"""A real OpenID Connect provider, Canaille (https://canaille.readthedocs.io), in a process of its
own: `python -m tests.identity_provider`.

Reads one command per line, as JSON, and answers each with a line: what it did, or where it listens.
"""

import datetime as dt
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # http, on loopback

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from joserfc.jwk import JWKRegistry

from tests.identity_provider import CLIENT_ID, SECRET


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def configuration(port: int) -> dict[str, Any]:
    key = JWKRegistry.generate_key("RSA", 2048)
    key.ensure_kid()
    return {
        "SECRET_KEY": "only-for-tests",
        "SERVER_NAME": f"localhost:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "ENV_FILE": None,
        "CANAILLE": {
            "DATABASE": "memory",
            "JAVASCRIPT": False,
            "HTMX": False,
            "SMTP": None,
            "CAPTCHA_ENABLED": False,
            "LANGUAGE": "en",
            "LOGGING": {"version": 1, "disable_existing_loggers": False},
            "ACL": {"DEFAULT": {"PERMISSIONS": ["use_oidc"]}},
        },
        "CANAILLE_OIDC": {
            "ACTIVE_JWKS": [key.as_dict(private=True)],
            "TRUSTED_DOMAINS": ["localhost"],
        },
    }


def add_client(redirect_uris: list[str]) -> None:
    """Adds the client, in place of an earlier one."""
    for old in Backend.instance.query(models.Client):
        Backend.instance.delete(old)
    client = models.Client(
        client_id=CLIENT_ID,
        client_secret=SECRET,
        client_id_issued_at=dt.datetime.now(dt.UTC),
        client_name="Kvitok",
        client_uri="http://localhost",  # among TRUSTED_DOMAINS: nobody is asked for consent
        redirect_uris=redirect_uris,
        grant_types=["authorization_code"],
        response_types=["code"],
        scope=["openid", "email", "profile", "groups"],
        token_endpoint_auth_method="client_secret_basic",
    )
    Backend.instance.save(client)
    client.audience = [client]  # of its ID tokens
    Backend.instance.save(client)


def set_person(name: str, groups: list[str]) -> None:
    """Creates the user if there is none, with the name as password, and sets the groups."""
    for unspent in Backend.instance.query(models.AuthorizationCode):
        Backend.instance.delete(unspent)  # the memory backend would find it instead of another one
    person = Backend.instance.get(models.User, user_name=name) or models.User(
        user_name=name,
        formatted_name=name.title(),
        family_name=name.title(),
        emails=[f"{name}@example.com"],
        password=name,
    )
    Backend.instance.save(person)
    for group in Backend.instance.query(models.Group):
        group.members = [member for member in group.members if member.id != person.id]
        if group.members:
            Backend.instance.save(group)
        else:
            Backend.instance.delete(group)
    for wanted in groups:
        group = Backend.instance.get(models.Group, display_name=wanted)
        group = group or models.Group(display_name=wanted, members=[])
        group.members = [*group.members, person]
        Backend.instance.save(group)


COMMANDS: dict[str, Callable[..., None]] = {"client": add_client, "person": set_person}


def serve(lines: Iterable[str]) -> None:
    server = Server(("localhost", 0), QuietHandler)
    app = create_app(config=configuration(server.server_port))
    server.set_app(app)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    say(f"http://localhost:{server.server_port}")
    for line in lines:
        name, arguments = json.loads(line)
        with app.app_context():
            COMMANDS[name](**arguments)
        say("done")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


serve(sys.stdin)
