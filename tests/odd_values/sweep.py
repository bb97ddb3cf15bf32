"""Sends odd values by one client, and undoes what each request has changed."""

import logging
import re
import traceback
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from http.cookies import SimpleCookie
from typing import Any, ClassVar
from unittest import mock
from urllib.parse import urlencode, urljoin, urlsplit

from celery import current_app
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.http import QueryDict
from django.test import Client, TestCase

from config.schedule import SCHEDULE
from storage.redis_client import redis_client
from tests.odd_values.html_forms import Form, Page
from tests.odd_values.values import FILES

URLENCODED = "application/x-www-form-urlencoded"
TABLE = re.compile(r'(?:FROM|UPDATE|INTO)\s+"?(\w+_\w+)"?')
OF_SITE = {"csrfmiddlewaretoken", "lang"}


class Tracebacks(logging.Handler):
    """Collects logged tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        is_refusal = record.name.startswith("django.security")  # answered by 400
        if record.exc_info and record.exc_info[1] and not is_refusal:
            self.found.append(where(record.exc_info[1]))


def where(error: BaseException) -> str:
    lines = traceback.extract_tb(error.__traceback__)
    own = [line for line in lines if not {"/.venv/", "/tests/"} & set(_parts(line.filename))]
    last = (own or list(lines))[-1]
    return f"{type(error).__name__}: {str(error)[:200]} ({last.filename}:{last.lineno})"


def _parts(path: str) -> Iterator[str]:
    return (f"/{part}/" for part in path.split("/"))


class Recorder(QueryDict):
    """Notes the names that a view reads."""

    names: ClassVar[set[str]]

    def __getitem__(self, key: str) -> Any:
        self.names.add(key)
        return super().__getitem__(key)

    def getlist(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().getlist(key, default)

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.names.add(str(key))
        return super().__contains__(key)


def recorder() -> type[Recorder]:
    return type("Recorder", (Recorder,), {"names": set[str]()})


class Sweep:
    def __init__(self, client: Client) -> None:
        self.client = client
        client.raise_request_exception = False
        self.failed: dict[str, str] = {}  # what was sent first, by the error
        self._jobs = jobs_by_table()
        self._forms: dict[str, list[Form]] = {}  # by what they are posted to
        self._queries: dict[tuple[str, str], set[str]] = {}  # names, by method and path
        self._posted = set[str]()
        self._log = Tracebacks()

    @contextmanager
    def listening(self) -> Iterator["Sweep"]:
        root = logging.getLogger()
        root.addHandler(self._log)
        try:
            with mock.patch.object(connection, "close"):  # it would end the test's transaction
                yield self
        finally:
            root.removeHandler(self._log)

    def ask(self, method: str, path: str, *args: Any, note: str = "", **more: Any) -> Any:
        """The response; whatever the request changed is undone."""
        self._log.found.clear()
        cookies = SimpleCookie(self.client.cookies)
        written = set[str]()
        with transaction.atomic(), TestCase.captureOnCommitCallbacks(execute=True):
            with connection.execute_wrapper(noting_inserts(written)):
                response: Any = getattr(self.client, method)(path, *args, **more)
                self._read_to_the_end(response)
                if response.status_code == 302 and method == "post":
                    self._look_at(urljoin(path, response["Location"]))
            if written and response.status_code < 400:
                self._run_jobs(written)
            transaction.set_rollback(True)
        self.client.cookies = cookies
        if response.status_code >= 500 and not self._log.found:
            self._log.found.append(str(response.status_code))
        for error in self._log.found[:1]:
            self.failed.setdefault(error, f"{method} {path[:80]} {note}")
        return response

    def _read_to_the_end(self, response: Any) -> None:
        try:
            deque(response, maxlen=0)
        except Exception as error:
            self._log.found.append(where(error))

    def _look_at(self, path: str) -> None:
        """Requests the page that shows the stored values."""
        if urlsplit(path).hostname in {None, "testserver"}:
            self.client.get(path)

    def _run_jobs(self, tables: set[str]) -> None:
        for task in {task for table in tables for task in self._jobs.get(table, ())}:
            try:
                current_app.tasks[task].run()
            except Exception as error:
                self._log.found.append(f"{task}: {where(error)}")

    def read_queries(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._recorded("get", path)

    def read(self, paths: Iterable[str], posted: Iterable[str]) -> None:
        """Reads the names in each path's query and forms, and in bodies posted without one."""
        for path in paths:
            response = self._recorded("get", path)
            if response.status_code == 200 and "html" in response.get("Content-Type", ""):
                for form in Page(response.content.decode()).forms:
                    action = urlsplit(urljoin(path, form.action or path)).path
                    if form.method == "post":
                        self._forms.setdefault(action, []).append(form)
        for path in posted:
            response = self._recorded("post", path, "a=1", content_type=URLENCODED)
            if response.status_code == 405:
                continue
            forms = self._forms.setdefault(path, [Form(path, "post")])
            for form in forms:
                missing = self._posted - form.values.keys() - form.files - dict(form.buttons).keys()
                form.values |= {name: [] for name in missing}

    def _recorded(self, method: str, path: str, *args: Any, **more: Any) -> Any:
        asked = recorder()
        posted = recorder()
        with (
            mock.patch("django.core.handlers.wsgi.QueryDict", asked),
            mock.patch("django.http.request.QueryDict", posted),
        ):
            response = self.ask(method, path, *args, **more)
        self._queries[method, path] = asked.names - OF_SITE
        self._posted = posted.names - OF_SITE
        return response

    def all_queries(self, values: Sequence[str]) -> None:
        """Puts each value into all parameters at once: a refused one hides no other."""
        for (method, path), names in self._queries.items():
            for value in values if names else ():
                query = urlencode(dict.fromkeys(names, value))
                self.ask(method, f"{path}?{query}", note=f"{sorted(names)} {value[:20]!r}")

    def all_forms(self, values: Sequence[str], alone: Sequence[str]) -> None:
        """`values` in all fields at once, and `alone` in each one while the others are good."""
        for path, forms in self._forms.items():
            for form in unlike(forms):
                redis_client().flushdb()  # no limit hides a field
                self._form(path, form, values, alone)

    def _form(self, path: str, form: Form, values: Sequence[str], alone: Sequence[str]) -> None:
        good = {name: several for name, several in form.values.items() if several}
        good |= {name: [text] for name, text in form.buttons[:1]}
        names = [name for name in form.values if name not in OF_SITE]
        for value in values if names else ():
            odd = {name: [value] for name in names}
            self.ask("post", path, good | odd, note=f"{names} {value[:20]!r}")
        for name in names if len(names) > 1 else ():
            for value in alone:
                self.ask("post", path, good | {name: [value]}, note=f"{name} {value[:20]!r}")
        for name in form.files:
            for content in FILES:
                file = SimpleUploadedFile("a\u202eb.csv", content, "text/csv")
                self.ask("post", path, {**good, name: file}, note=f"{name} {content[:20]!r}")


def unlike(forms: list[Form]) -> list[Form]:
    """One of those that differ only in values, such as a button in each row."""
    return list({(*form.values, *form.files): form for form in forms}.values())


def noting_inserts(tables: set[str]) -> Any:
    def note(execute: Any, sql: Any, params: Any, count: Any, context: Any) -> Any:
        text = str(sql).split(maxsplit=3)
        if len(text) > 2 and text[0].upper() == "INSERT":
            tables.add(text[2].strip('"'))
        return execute(sql, params, count, context)

    return note


class _EnoughError(BaseException):
    pass


@cache
def jobs_by_table() -> Mapping[str, set[str]]:
    """The periodic tasks, by the tables that their first statements name."""
    current_app.loader.import_default_modules()
    result = defaultdict[str, set[str]](set)
    for task in {entry["task"] for entry in SCHEDULE.values() if not entry.get("kwargs")}:
        for table in _first_tables(task):
            result[table].add(task)
    return result


def _first_tables(task: str) -> set[str]:
    statements: list[str] = []

    def note(execute: Any, sql: Any, params: Any, count: Any, context: Any) -> Any:
        statements.append(str(sql))
        if len(statements) > 3:
            raise _EnoughError
        return execute(sql, params, count, context)

    with transaction.atomic(), connection.execute_wrapper(note):
        with suppress(_EnoughError):
            current_app.tasks[task].run()
        transaction.set_rollback(True)
    return {table for sql in statements for table in TABLE.findall(sql)}
