"""Clients generated from the schema send and verify codes, with their types checked."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests

from accounts.models import Mode
from tests.factories import ApiKeyFactory
from tests.stack.stack import Stack
from tools.examples import schema_tools
from tools.examples.checks import phone
from tools.examples.toolchains import MissingError

PROGRAMS = Path(__file__).parent / "clients"
# Of the generated files `client` is the same for every schema; its `__exit__` is typed too loosely.
MYPY = "[mypy]\nstrict = True\n[mypy-kvitok_client.client]\nignore_errors = True\n"
TSC = (
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--types",
    "node",
)


@pytest.fixture
def environ(stack: Stack) -> dict[str, str]:
    key = ApiKeyFactory.create(company=stack.sender().company, mode=Mode.TEST)
    return {
        "KVITOK_URL": f"{stack.url}/api/v1", "KVITOK_KEY": key.plaintext, "PHONE": phone()
    }  # fmt: skip


@pytest.fixture
def schema(stack: Stack, tmp_path: Path) -> Path:
    answer = requests.get(f"{stack.url}/api/v1/openapi.json?lang=en", timeout=10)
    file = tmp_path / "openapi.json"
    file.write_text(answer.text, encoding="utf-8")
    return file


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout.strip()


def found(name: str) -> Path:
    try:
        return schema_tools.find(name)
    except MissingError as error:
        pytest.skip(str(error))


def all_done(threads: ThreadPoolExecutor, *jobs: Callable[[], str]) -> list[str]:
    return [job.result() for job in [threads.submit(one) for one in jobs]]


def expected() -> str:
    return f"4 left, verified in {datetime.now(UTC):%Y}, active"


def test_python_client_sends_and_verifies_with_typed_errors(
    schema: Path, environ: dict[str, str], tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    programs = Path(sys.executable).parent
    made = tmp_path / "kvitok_client"
    options: list[str | Path] = ["--meta", "none", "--output-path", made, "--fail-on-warning"]
    generator = programs / "openapi-python-client"
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}  # it formats with ruff
    run(generator, "generate", "--path", schema, *options, cwd=tmp_path, env=path)
    program = shutil.copy(PROGRAMS / "send_and_verify.py", tmp_path)
    (tmp_path / "mypy.ini").write_text(MYPY, encoding="utf-8")

    _judged, output = all_done(
        threads,
        lambda: run(programs / "mypy", program, cwd=tmp_path),
        lambda: run(sys.executable, program, cwd=tmp_path, env=environ),
    )

    assert output == expected()
    models = {file.stem for file in (made / "models").glob("*link*.py")}
    assert {name for name in models if name.endswith("link")} == {"link", "new_link"}


def test_typescript_client_sends_and_verifies_with_typed_errors(
    schema: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    generator, compiler = found("openapi-typescript"), found("tsc")
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}), encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(schema_tools.MODULES)
    shutil.copy(PROGRAMS / "send_and_verify.ts", tmp_path)

    run(generator, schema, "-o", "schema.d.ts", cwd=tmp_path)
    run(compiler, *TSC, "send_and_verify.ts", cwd=tmp_path)
    output = run("node", "send_and_verify.js", cwd=tmp_path, env=environ)

    assert output == expected()


def test_linters_find_nothing_to_say(
    schema: Path, tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    """By the rules that redocly and spectral recommend, warnings included."""
    redocly, spectral = found("redocly"), found("spectral")
    (tmp_path / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n', encoding="utf-8")
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}

    judged, _said = all_done(
        threads,
        lambda: run(redocly, "lint", "--format=json", schema, cwd=tmp_path, env=quiet),
        lambda: run(spectral, "lint", "--fail-severity=hint", schema, cwd=tmp_path),
    )

    assert json.loads(judged)["problems"] == []
