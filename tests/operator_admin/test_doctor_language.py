"""The language in which the `doctor` speaks."""

import re

import pytest
from django.core.management import call_command
from django.utils import translation

from operator_admin import doctor

pytestmark = pytest.mark.django_db
ENGLISH = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+\b")  # names of checks and programs are shorter


def test_russian_reader_finds_no_english_sentence() -> None:
    with translation.override("ru"):
        findings = list(doctor.run_checks())

    texts = [
        re.sub(r"`[^`]*`|\([^)]*\)|python manage.py.*", "", f"{finding.detail} {finding.remedy}")
        for finding in findings
    ]
    assert len(texts) > 25
    assert [text for text in texts if ENGLISH.search(text)] == []


def test_command_speaks_english_as_the_documentation_quotes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with translation.override("ru"), pytest.raises(SystemExit):
        call_command("doctor")

    assert not re.search("[а-яё]{3}", capsys.readouterr().out)
