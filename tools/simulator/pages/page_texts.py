"""The pages' texts by language: a row of `texts.csv` each, Russian first."""

import csv
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from tools.simulator.channels import CHANNELS
from tools.simulator.faults import Fault


def read_texts(path: Path) -> Mapping[str, Mapping[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        (_, *languages), *rows = csv.reader(file)
    return {lang: {row[0]: row[n] for row in rows} for n, lang in enumerate(languages, 1)}


LANGUAGES = read_texts(Path(__file__).with_name("texts.csv"))


def language_of(request: web.Request) -> str:
    """`?lang=` wins, then the first language of the browser; Russian where neither is ours."""
    asked = request.query.get("lang", "")
    if asked in LANGUAGES:
        return asked
    accepted = request.headers.get("Accept-Language", "")
    return "en" if accepted.strip().lower().startswith("en") else "ru"


def fault_words(fault: Fault, words: Mapping[str, str]) -> str:
    facts = [
        words[f"kind_{fault.kind or 'latency'}"],
        CHANNELS[fault.channel].title if fault.channel else "",
        words[f"provider_{fault.provider}"] if fault.provider else "",
        f"+{fault.phone}" if fault.phone else "",
        words["ms"].format(fault.latency_ms) if fault.latency_ms is not None else "",
        words["times_left"].format(fault.times) if fault.times else "",
    ]
    return " · ".join(part for part in facts if part)
