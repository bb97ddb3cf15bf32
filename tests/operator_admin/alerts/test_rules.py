"""Every rule has a condition, words in both languages, and a row in the runbook."""

import re
from pathlib import Path

import pytest
from django.utils import translation

from operator_admin import views
from operator_admin.alerts.rules import RULES

RUNBOOK = Path("docs/operations/alerts.md")
CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)


@pytest.mark.parametrize("name", RULES)
def test_rule_is_in_the_runbook_and_in_russian(name: str) -> None:
    assert f"| `{name}` |" in RUNBOOK.read_text(encoding="utf-8")
    with translation.override("ru"):
        rule = views.describe(name, RULES[name])
    assert CYRILLIC.search(str(rule["title"])) or name == "doctor"
    assert CYRILLIC.search(str(rule["cure"]))


def test_causes_are_rules() -> None:
    assert {cause for rule in RULES.values() for cause in rule.causes} <= set(RULES)
