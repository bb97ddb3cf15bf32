"""Rules for the checkout as a whole: its settings are listed, its files small, its layers kept
apart by contracts that do fail when they are broken.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.packages import PACKAGES, ROOT
from tests.servers import LONG_TESTS, QUICK_TESTS, SLOW_TESTS

MAX_FILE_LINES = 400
MAX_SQL_COLUMNS = 100  # as pyproject.toml bounds Python
_READ = re.compile(
    r"""\benv(?:\.\w+)?\(\s*"([A-Z][A-Z0-9_]*)"|(?:_secret\(|at_least\([\d_*]+,|_(?:integer|number)\(env,)\s*"([A-Z_]+)\""""
)
_LISTED = re.compile(r"^#?\s?([A-Z][A-Z0-9_]*)=", re.MULTILINE)


def project_files() -> list[Path]:
    folders = [*PACKAGES, "tools", "tests", "docs", "deploy"]
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]


def test_every_variable_is_listed_in_the_example() -> None:
    files = [ROOT / "config" / "settings.py", *(ROOT / "config" / "environment").glob("*.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    example = (ROOT / ".env.example").read_text(encoding="utf-8")

    read = {name for groups in _READ.findall(source) for name in groups if name}

    assert len(read) > 30
    assert read - set(_LISTED.findall(example)) == set()


def test_every_region_that_the_keyboard_reaches_has_a_name() -> None:
    tag = re.compile(r'<(?!pre\b)\w+ [^>]*tabindex="0"[^>]*>')
    tags = [
        (path.name, found)
        for path in (ROOT / "templates").rglob("*.html")
        for found in tag.findall(path.read_text(encoding="utf-8"))
    ]

    assert len(tags) > 5
    assert [one for one in tags if "aria-label" not in one[1]] == []


def test_every_security_promise_names_code_and_tests() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    promises = [row for row in rows if row[0].strip() != "promise"]

    assert len(promises) > 40
    for promise, mechanism, tests in promises:
        assert [
            name for name in _code(mechanism) if "/" in name and not (ROOT / name).exists()
        ] == []
        assert _code(tests), promise
        assert [name for name in _code(tests) if not _is_test(name)] == [], promise


def _code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _is_test(name: str) -> bool:
    file, _, test = name.partition("::")
    path = ROOT / file
    return path.is_file() and f"def {test or 'test_'}" in path.read_text(encoding="utf-8")


def test_no_file_is_too_long() -> None:
    written = [path for path in project_files() if "migrations" not in path.parts]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in written}

    assert len(lengths) > 100
    assert {str(path): length for path, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_each_module_of_tests_begins_with_a_docstring() -> None:
    docstring = re.compile(r'(#.*\n|\n)*"""')
    files = [path for path in (ROOT / "tests").rglob("*.py") if "migrations" not in path.parts]
    sources = {str(path): path.read_text(encoding="utf-8") for path in files}

    assert len(sources) > 700
    assert [name for name, text in sources.items() if text and not docstring.match(text)] == []


@pytest.fixture(scope="module")
def sql_lines() -> dict[str, str]:
    """The lines of the product's and the tools' statements, by file and number."""
    files = [path for name in [*PACKAGES, "tools"] for path in (ROOT / name).rglob("*.sql")]
    assert len(files) > 50
    return {
        f"{path}:{number}": line
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    }


def test_no_line_of_sql_is_too_long(sql_lines: dict[str, str]) -> None:
    assert [at for at, line in sql_lines.items() if len(line) > MAX_SQL_COLUMNS] == []


def test_each_table_of_a_statement_has_a_word_for_a_name(sql_lines: dict[str, str]) -> None:
    """`message.id`, not `m.id`: the letters of one statement are not those of the next."""
    letter = re.compile(r"(?<![\w.%'{])[a-z]\.[a-z_*{]")

    assert [at for at, line in sql_lines.items() if letter.search(line.partition("--")[0])] == []


def test_slow_tests_exist() -> None:
    """An entry may be a folder, a file, or the beginning of a test's name."""
    for entry in (*LONG_TESTS, *QUICK_TESTS, *SLOW_TESTS):
        path, _, name = entry.partition("::")
        assert (ROOT / path).exists(), entry
        if name:
            source = (ROOT / path).read_text(encoding="utf-8")
            assert f"def {name.partition('[')[0]}" in source, entry


def test_only_the_ledger_writes_money() -> None:
    writes = re.compile(
        r"(INSERT INTO|UPDATE|DELETE FROM) billing_(wallet|transfer)"
        r"|\b(Wallet|Transfer)\.objects\.\w*(create|update|delete)"
    )
    writers = {
        path.relative_to(ROOT).as_posix()
        for path in _sources(*PACKAGES, "tools")
        if "migrations" not in path.parts and writes.search(path.read_text(encoding="utf-8"))
    }

    past = "tools/demo/past_transfers.sql"  # of made-up histories, which no product code imports
    holds = {f"{name}.sql" for name in ("hold_wallet", "hold_wallets", "holds", "move_holds")}
    ledger = {*holds, "ledger.py", "capture.sql", "release.sql", "settle.sql"}
    assert writers == {*(f"billing/wallet/{name}" for name in ledger), past}


def _sources(*folders: str) -> list[Path]:
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    return [path for path in files if path.suffix in {".py", ".sql"}]


def test_rows_are_claimed_once() -> None:
    """Claims choose in ARRAY() or in WITH. `IN (SELECT … LIMIT … SKIP LOCKED)` may run for each
    row, each time for the next ones.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in _sources(*PACKAGES)}
    selects = [(path, select) for path, text in texts.items() for select in _selects_of_in(text)]

    assert len(selects) > 10
    assert sum("SKIP LOCKED" in text for text in texts.values()) > 5
    assert [
        path for path, select in selects if re.search(r"LIMIT\s.*SKIP LOCKED", select, re.S)
    ] == []


def _selects_of_in(text: str) -> Iterator[str]:
    for start in re.finditer(r"\bIN \(\s*SELECT", text):
        depth = 0
        for end in range(start.end(), len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth < 0:
                yield text[start.end() : end]
                break


def test_no_test_leaves_a_setting_in_its_session() -> None:
    """A connection that is closed goes back to the pool, and to another test, as it is."""
    # `session` and `operator` are connections of a test's own, which end with it.
    sets = re.compile(
        r"""(?<!\bsession\.)(?<!\boperator\.)\bexecute\(\s*f?"SET (?!LOCAL|ROLE|CONSTRAINTS)"""
    )
    tests = ROOT / "tests"

    setting = {
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        if sets.search(path.read_text(encoding="utf-8"))
    }

    # The last restarts PostgreSQL, so that no session is left.
    assert setting == {"session_settings.py", "database_cleanup.py", "stack/test_readiness.py"}


LAYERS_CONTRACT = "Packages import one way down"
BROKEN = [
    ("api/request_fields.py", "import webhooks.events", LAYERS_CONTRACT),
    ("cabinet/forms.py", "import billing.models", LAYERS_CONTRACT),
    ("billing/web/api.py", "import channels.models", LAYERS_CONTRACT),
    ("channels/web/send_view.py", "import links.models", LAYERS_CONTRACT),
    ("links/addresses/slugs.py", "import otp.codes", LAYERS_CONTRACT),
    ("otp/codes.py", "import operator_admin.site", LAYERS_CONTRACT),
    ("otp/codes.py", "import api_docs.calls", LAYERS_CONTRACT),
    ("catalogue/errors.py", "import accounts.models", LAYERS_CONTRACT),
    ("catalogue/errors.py", "import storage.cache", LAYERS_CONTRACT),
    ("config/schedule.py", "import config.health", "config: one way down"),
    ("storage/sessions.py", "import storage.redis_client", "storage: one way down"),
    ("accounts/names.py", "import accounts.models", "accounts: one way down"),
    ("billing/models/order.py", "import billing.orders.payments", "billing: one way down"),
    (
        "channels/lifecycle/snapshots.py",
        "import channels.routing.channel_plan",
        "channels: one way down",
    ),
    ("links/follow/redirect.py", "import links.make.shorten", "links: one way down"),
    ("otp/texts/rules.py", "import otp.send", "otp: one way down"),
    ("otp/codes.py", "import persons.models", LAYERS_CONTRACT),
    ("persons/sql.py", "import persons.erasure", "persons: one way down"),
    ("otp/web/calls.py", "import api_docs.pages.search", "api_docs: one way down"),
    ("operator_admin/figures.py", "import operator_admin.doctor", "operator_admin: one way down"),
    (
        "channels/providers/twilio/provider.py",
        "import django.conf",
        "Providers know one vendor and none of our models",
    ),
    (
        "channels/providers/base.py",
        "import config.settings",
        "Providers know one vendor and none of our models",
    ),
    (
        "channels/providers/twilio/vendor.py",
        "import channels.providers.http",
        "What vendors declare is pure data",
    ),
    (
        "identity_hooks/hook_call.py",
        "import identity_hooks.kind",
        "identity_hooks: one way down",
    ),
    ("otp/codes.py", "import tools.simulator", "The product imports no tools"),
    (
        "tools/simulator/__init__.py",
        "import channels.providers.gsm",
        "The simulator shares no code with what it judges",
    ),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages and their contracts, to be spoiled."""
    place = tmp_path_factory.mktemp("checkout")
    for package in [*PACKAGES, "tools"]:
        shutil.copytree(
            ROOT / package,
            place / package,
            ignore=lambda _folder, names: [name for name in names if name == "__pycache__"],
        )
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def lint(checkout: Path) -> tuple[int, str]:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "PYTHONPATH": str(checkout), "COLUMNS": "200"},
    )
    return done.returncode, done.stdout + done.stderr


def test_layers_are_kept(copy: Path) -> None:
    code, output = lint(copy)

    assert (code, "0 broken" in output) == (0, True), output


def test_each_contract_fails_when_it_is_broken(copy: Path) -> None:
    missed = []
    for name, statement, contract in BROKEN:
        file = copy / name
        good = file.read_text(encoding="utf-8")
        file.write_text(f"{good}\n{statement}\n", encoding="utf-8")
        code, output = lint(copy)
        file.write_text(good, encoding="utf-8")
        if code == 0 or f"{contract} BROKEN" not in output:
            missed.append((name, statement, output))

    assert missed == []


def test_every_contract_has_been_broken() -> None:
    contracts = re.findall(r'^name = "(.+)"$', _contracts(), re.MULTILINE)

    assert {contract for _, _, contract in BROKEN} == set(contracts)


def _contracts() -> str:
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.importlinter]")[2]


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    """All our modules by path, without migrations."""
    paths = [
        path for folder in (*PACKAGES, "tools", "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    return [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in paths
        if "migrations" not in path.parts
    ]


def _bodies() -> Iterator[tuple[str, list[ast.stmt]]]:
    """The statements of each module and class."""
    for path, module in _modules():
        for node in ast.walk(module):
            if isinstance(node, ast.Module | ast.ClassDef):
                yield path, node.body


def test_no_name_of_a_module_or_class_is_defined_twice() -> None:
    """The second definition replaces the first one without a word."""
    twice = {
        f"{path}: {name}"
        for path, body in _bodies()
        if not path.startswith("tests/")
        for name, count in Counter(_assigned(body)).items()
        if count > 1 and name != "_"
    }
    assert twice == set()


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id


def test_each_constant_has_a_line() -> None:
    """Constants that share an assignment can neither be searched for nor be explained apart."""
    packed = [
        f"{path}:{node.lineno}"
        for path, body in _bodies()
        for node in body
        if isinstance(node, ast.Assign) and _is_packed(node)
    ]
    assert packed == []


def _is_packed(node: ast.Assign) -> bool:
    """Whether it assigns several names, other than by unpacking one value."""
    is_tuple = isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
    return is_tuple or len(node.targets) > 1


def test_constants_stand_above_the_functions_that_use_them() -> None:
    """Unless they make it."""
    below = [f"{path}: {name}" for path, module in _modules() for name in _late(module.body)]

    assert below == []


def _late(body: list[ast.stmt]) -> Iterator[str]:
    used = set[str]()
    defined = set[str]()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
            used |= _names(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names = set(_assigned([node]))
            if _names(node) & defined:
                defined |= names
            else:
                yield from (name for name in names & used if name.isupper())


def _names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def test_name_of_gettext_is_never_reused() -> None:
    reused = [
        f"{path}:{node.lineno}"
        for path, module in _modules()
        if any(isinstance(node, ast.alias) and node.asname == "_" for node in ast.walk(module))
        for node in ast.walk(module)
        if isinstance(node, ast.Name) and node.id == "_" and isinstance(node.ctx, ast.Store)
    ]
    assert reused == []
