"""Explains every statement right before the code executes it, and records its cost."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg
from django.db import connection
from django.test import Client

from accounts import key_issuing
from accounts.models import Company, Member, Mode, User
from tests.plans import Statement, analyzed
from tools.demo.senders import NAME

_IS_EXPLAINED = re.compile(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """The cost of one execution of a statement: 8 KB blocks found in memory or read, and ms."""

    text: str
    blocks: int
    ms: float


@contextmanager
def recorded() -> Iterator[list[Reading]]:
    """Records this thread's statements. Each is executed twice: its first execution is undone."""
    readings: list[Reading] = []

    def explain_first(execute: Any, text: str, params: Any, many: bool, context: Any) -> Any:
        if not many and _IS_EXPLAINED.match(text):
            readings.append(_explained(text, params))
        return execute(text, params, many, context)

    with connection.execute_wrapper(explain_first):
        yield readings


def _explained(text: str, params: Any) -> Reading:
    with connection.connection.transaction(force_rollback=True):
        plan = analyzed(Statement(text, params))
    return Reading(" ".join(text.split()), blocks_of(plan["Plan"]), plan["Execution Time"])


def blocks_of(node: dict[str, Any]) -> int:
    """The blocks of the whole plan. The root omits data-modifying CTEs, which run at the end; a CTE
    scan includes the blocks of the CTE.
    """
    children = node.get("Plans", [])
    blocks = 0 if node["Node Type"] == "CTE Scan" else _inclusive(node)
    blocks -= sum(
        _inclusive(child) for child in children if "CTE " not in child.get("Subplan Name", "")
    )
    return max(0, blocks) + sum(map(blocks_of, children))


def _inclusive(node: dict[str, Any]) -> int:
    return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])


_HAND_IN = "SELECT pg_stat_force_next_flush()"
_COUNTED = """
SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"""


def blocks_of_database(store: psycopg.Connection) -> int:
    """All that was read so far, for work that is too long to be executed twice."""
    with connection.cursor() as cursor:
        cursor.execute(_HAND_IN)  # a session counts by itself for up to a second
    row = store.execute(_COUNTED).fetchone()
    return int(row[0]) if row else 0


EMAIL = "growth@example.com"
_phones = count(9_000_000)


@dataclass(frozen=True)
class Probe:
    company: Company
    key: str
    browser: Client  # signed in as an owner who is an operator as well

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        response = Client().post(
            f"/api/v1{path}",
            json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.key}"} | headers,
        )
        return _ok(path, response).json()

    def get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        return _ok(path, Client().get(f"/api/v1{path}", headers=headers)).json()

    def new_phone(self) -> str:
        return f"+7000{next(_phones)}"


def _ok(path: str, response: Any) -> Any:
    if response.status_code != 200:
        raise RuntimeError(f"{path} answered {response.status_code}: {response.content[:300]!r}")
    return response


def make() -> Probe:
    company = Company.objects.get(name=NAME.format(0))
    user = User.objects.filter(email=EMAIL).first()
    user = user or User.objects.create_superuser(email=EMAIL, language="en")
    Member.objects.get_or_create(company=company, user=user, role=Member.Role.OWNER)
    for old in company.api_keys.active().filter(name="growth"):
        key_issuing.revoke_api_key(key=old, user=user)
    _key, text = key_issuing.create_api_key(
        company=company, user=user, mode=Mode.LIVE, name="growth"
    )
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return Probe(company, text, browser)
