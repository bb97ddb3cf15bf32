"""docs/examples is complete and short enough to read on a page."""

import re
from pathlib import Path

from tools.examples.languages import LANGUAGES, SOURCES, STEMS

_MANIFESTS = {"Cargo.toml", "Examples.csproj", "package.json", "tsconfig.json"}


def programs() -> list[Path]:
    return [
        SOURCES / language.name / language.file(stem) for language in LANGUAGES for stem in STEMS
    ]


def test_each_language_shows_the_same_six_things() -> None:
    there = {path for path in SOURCES.glob("*/*") if path.is_file()}

    assert {path for path in there if path.name not in _MANIFESTS} == set(programs())
    assert {path.name for path in SOURCES.iterdir() if path.is_dir()} == {
        "csharp",
        "curl",
        "go",
        "java",
        "javascript",
        "php",
        "python",
        "rust",
        "typescript",
    }


def test_programs_take_addresses_and_secrets_from_the_environment() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in programs()}

    for path, text in texts.items():
        is_receiver = "webhook" in path.stem.lower()
        names = {"KVITOK_SECRET"} if is_receiver else {"KVITOK_URL", "KVITOK_KEY"}
        assert names <= set(re.findall(r"KVITOK_[A-Z]+", text)), path
        assert re.search(r"kv_(live|test)_|https?://(?!127\.0\.0\.1)", text) is None, path


def test_every_call_is_given_up_after_ten_seconds() -> None:
    calls = [path for path in programs() if "webhook" not in path.stem.lower()]

    patient = [
        path
        for path in calls
        if not re.search(
            r"timeout=10|timeout\(10_000\)|max-time 10|TIMEOUT => 10|10 \* time\.Second"
            r"|ofSeconds\(10\)|FromSeconds\(10\)|from_secs\(10\)",
            path.read_text(encoding="utf-8"),
        )
    ]

    assert patient == []
