"""Clients that generators make of the schema send and verify codes, with their types checked.

The schema is the one of the default address, in Russian: generators make files and classes of
names, which therefore are the same in every language. Those that need Node.js or a JDK are skipped
without it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import openapi_generator_cli
import pytest
import requests

from accounts.models import Mode
from config.environment.variables import ROOT
from tests.factories import ApiKeyFactory
from tests.stack import schema_tools
from tests.stack.stack import Stack
from tools.examples.checks import phone
from tools.examples.languages import MissingError

PROGRAMS = Path(__file__).parent / "clients"
MODULES = ROOT / "var/clients/node_modules"
SCRIPTS = Path(sys.executable).parent
JAR = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
# These generated files are the same for every schema, and typed too loosely.
MYPY = """[mypy]
strict = True
[mypy-kvitok_client.client,kvitok.*]
ignore_errors = True
implicit_reexport = True
"""
TSC = {
    "strict": True,
    "skipLibCheck": True,
    "target": "es2022",
    "module": "nodenext",
    "types": ["node"],
}


@pytest.fixture
def environ(stack: Stack) -> dict[str, str]:
    key = ApiKeyFactory.create(company=stack.sender().company, mode=Mode.TEST)
    return {"KVITOK_URL": f"{stack.url}/api/v1", "KVITOK_KEY": key.plaintext, "PHONE": phone()}


@pytest.fixture
def schema(stack: Stack, tmp_path: Path) -> Path:
    """From the address that the documentation gives."""
    response = requests.get(f"{stack.url}/api/v1/openapi.json", timeout=10)
    file = tmp_path / "openapi.json"
    file.write_text(response.text, encoding="utf-8")
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


def needed(name: str) -> str:
    result = shutil.which(name)
    if result is None:
        pytest.skip(f"no {name} on this machine")
    return result


def node_tool(name: str) -> Path:
    needed("node")
    if not MODULES.is_dir():
        pytest.skip("make client-tools has not run")
    return MODULES / ".bin" / name


def openapi_generator(schema: Path, *options: str | Path) -> list[str | Path]:
    quiet = "apiDocs=false,modelDocs=false,apiTests=false,modelTests=false"
    parts = f"apis,models,supportingFiles,{quiet}"
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    command = ("-jar", JAR, "generate", "-i", schema, "--global-property", parts)
    return [needed("java"), *quick, *command, *options]


def all_done(threads: ThreadPoolExecutor, *jobs: Callable[[], str]) -> list[str]:
    return [job.result() for job in [threads.submit(task) for task in jobs]]


def python(program: str, directory: Path, environ: Mapping[str, str]) -> str:
    """Runs the program while its types are checked."""
    shutil.copy(PROGRAMS / program, directory)
    (directory / "mypy.ini").write_text(MYPY, encoding="utf-8")
    with ThreadPoolExecutor(2) as threads:
        _judged, output = all_done(
            threads,
            lambda: run(SCRIPTS / "mypy", program, cwd=directory),
            lambda: run(sys.executable, program, cwd=directory, env=environ),
        )
    return output


def typescript(
    program: str, directory: Path, environ: Mapping[str, str], *generator: str | Path
) -> str:
    """Generates the client, compiles the program and runs it."""
    (directory / "package.json").write_text(json.dumps({"type": "module"}), encoding="utf-8")
    settings = {"compilerOptions": TSC, "files": [program]}
    (directory / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    (directory / "node_modules").symlink_to(MODULES)
    shutil.copy(PROGRAMS / program, directory)
    run(*generator, cwd=directory)
    run(node_tool("tsc"), cwd=directory)
    return run("node", Path(program).with_suffix(".js"), cwd=directory, env=environ)


def with_openapi_generator_for_python(
    schema: Path, directory: Path, environ: Mapping[str, str]
) -> str:
    options = ("-g", "python", "-o", directory, "--package-name", "kvitok")
    run(*openapi_generator(schema, *options), cwd=directory)
    return python("openapi_generator.py", directory, environ)


def with_openapi_typescript(schema: Path, directory: Path, environ: Mapping[str, str]) -> str:
    generator = node_tool("openapi-typescript")
    options = (generator, schema, "-o", "schema.d.ts")
    return typescript("openapi_typescript.ts", directory, environ, *options)


def with_openapi_python_client(schema: Path, directory: Path, environ: Mapping[str, str]) -> str:
    made = directory / "kvitok_client"
    options: list[str | Path] = ["--meta", "none", "--output-path", made, "--fail-on-warning"]
    path = {"PATH": f"{SCRIPTS}:{os.environ['PATH']}"}  # it formats with ruff
    generator = SCRIPTS / "openapi-python-client"
    run(generator, "generate", "--path", schema, *options, cwd=directory, env=path)
    models = {file.stem for file in (made / "models").glob("*link*.py")}
    assert {name for name in models if name.endswith("link")} == {"link", "new_link"}
    return python("openapi_python_client.py", directory, environ)


def with_hey_api(schema: Path, directory: Path, environ: Mapping[str, str]) -> str:
    settings = {
        "input": str(schema),
        "output": {"path": "made", "importFileExtension": ".js"},
        "plugins": ["@hey-api/client-fetch"],
        "logs": {"file": False},
    }
    text = f"export default {json.dumps(settings)};"
    (directory / "openapi-ts.config.mjs").write_text(text, encoding="utf-8")
    return typescript("hey_api.ts", directory, environ, node_tool("openapi-ts"))


def with_openapi_generator_for_typescript(
    schema: Path, directory: Path, environ: Mapping[str, str]
) -> str:
    ends = ("--additional-properties", "importFileExtension=.js")
    options = openapi_generator(schema, "-g", "typescript-fetch", "-o", directory / "made", *ends)
    return typescript("openapi_generator.ts", directory, environ, *options)


def with_openapi_generator_for_java(
    schema: Path, directory: Path, environ: Mapping[str, str]
) -> str:
    """With Jackson from the generator's own jar."""
    names = "invokerPackage=kvitok,apiPackage=kvitok.api,modelPackage=kvitok.model"
    options = ("--library", "native", "--additional-properties", f"openApiNullable=false,{names}")
    run(*openapi_generator(schema, "-g", "java", "-o", directory, *options), cwd=directory)
    sources = [*(directory / "src/main").rglob("*.java"), *(PROGRAMS / "java").rglob("*.java")]
    javac = needed("javac")
    run(javac, "-nowarn", "-proc:none", "-d", "classes", "-cp", JAR, *sources, cwd=directory)
    path = f"classes:{JAR}"
    return run(needed("java"), "-cp", path, "SendAndVerify", cwd=directory, env=environ)


def expected() -> str:
    return f"4 left, verified in {datetime.now(UTC):%Y}, active"


CLIENTS = [
    with_openapi_python_client,
    with_openapi_typescript,
    with_openapi_generator_for_python,
    with_hey_api,
    with_openapi_generator_for_typescript,
    with_openapi_generator_for_java,
]


@pytest.mark.timeout(300)  # with the start of the service
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
def test_client_sends_and_verifies_with_typed_errors(
    client: Callable[..., str], schema: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    assert client(schema, tmp_path, environ) == expected()


def linter(name: str) -> Path:
    try:
        return schema_tools.find(name)
    except MissingError as error:
        pytest.skip(str(error))


def test_linters_accept_the_schema(
    schema: Path, tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    """By the rules that redocly and spectral recommend, warnings included."""
    redocly = linter("redocly")
    spectral = linter("spectral")
    (tmp_path / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n', encoding="utf-8")
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}

    judged, _said = all_done(
        threads,
        lambda: run(redocly, "lint", "--format=json", schema, cwd=tmp_path, env=quiet),
        lambda: run(spectral, "lint", "--fail-severity=hint", schema, cwd=tmp_path),
    )

    assert json.loads(judged)["problems"] == []
