from tools.examples import __main__
from tools.examples.__main__ import LanguageResult
from tools.examples.checks import CHECKS
from tools.examples.languages import (
    Language,
    Toolchain,
    Workspace,
    build,
    tool,
)
from tools.examples.service import Service

NOWHERE = Service("http://127.0.0.1:1/api/v1", "kv_test_none")


def lacking(_place: Workspace) -> Toolchain:
    tool("no-such-compiler")
    raise AssertionError


def broken(_place: Workspace) -> Toolchain:
    build(["bash", "-c", "echo line 3: no; exit 1"])
    raise AssertionError


def dead(_place: Workspace) -> Toolchain:
    return Toolchain("Shell 1.0", lambda _file: ["bash", "-c", "echo nothing to say"])


def outcome_of(language: Language) -> LanguageResult:
    return __main__.check_language(language, NOWHERE, install=False)


def test_unavailable_language_is_reported_and_not_a_failure() -> None:
    outcome = outcome_of(Language("curl", "sh", lacking, lambda _place: None))

    assert outcome.is_good
    assert __main__.reasons([outcome]) == ["curl was not run: no no-such-compiler"]


def test_a_language_that_does_not_compile_is_a_failure() -> None:
    outcome = outcome_of(Language("curl", "sh", broken, lambda _place: None))

    assert not outcome.is_good
    assert __main__.reasons([outcome]) == ["curl does not compile:\nline 3: no"]


def test_examples_that_do_nothing_are_failures() -> None:
    outcome = outcome_of(Language("curl", "sh", dead, lambda _place: None))

    assert not outcome.is_good
    assert set(outcome.failures) == {*CHECKS}
