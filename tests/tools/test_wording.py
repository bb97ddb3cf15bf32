"""What `make lint` says of wording, and that the tree has none of it: `python -m tools.wording`."""

from pathlib import Path

import pytest

from tools.wording import faults

CASES = {
    "# rules of before have none": "of before",
    '"""Judged as of a phone."""': "as of a",
    "text = _('Codes to such numbers')": "such numbers",
    "# counts what was learned, and goes by it": "goes by",
}


@pytest.mark.parametrize(("source", "phrase"), CASES.items())
def test_phrase_is_refused(tmp_path: Path, source: str, phrase: str) -> None:
    (tmp_path / "module.py").write_text(f"{source}\n", encoding="utf-8")

    (fault,) = faults(str(tmp_path / "module.py"))

    assert f":1: “{phrase}”; better: " in fault


def test_variables_are_checked_and_fields_of_classes_are_not(tmp_path: Path) -> None:
    source = "class Row:\n    own: int\n\ndef read(found):\n    return [one for one in found]\n"
    (tmp_path / "module.py").write_text(source, encoding="utf-8")

    lines = [
        fault.split("; ")[0].rpartition(".py")[2] for fault in faults(str(tmp_path / "module.py"))
    ]

    assert lines == [":4: `found`", ":5: `one`"]


def test_idioms_pass(tmp_path: Path) -> None:
    text = "There is no such account, such as these. It is so many that none of them counts.\n"
    (tmp_path / "page.md").write_text(text, encoding="utf-8")

    assert list(faults(str(tmp_path / "page.md"))) == []
