"""The check of wording refuses phrases and variables."""

from pathlib import Path

from tools.wording import faults

SOURCE = '''"""Of a phone: rules of before have none."""
class Row:
    own: int  # goes by the field of a class, which is no variable

def read(found):
    return [_("codes to such numbers") for one in found]
'''
TEXT = "There is no such account, such as these; there are so many that none of them counts.\n"


def test_phrases_and_variables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SOURCE, encoding="utf-8")

    wrong = [fault.split("m.py:")[1].split("; ")[0] for fault in faults(str(tmp_path / "m.py"))]

    phrases = ["1: “of before”", "1: “Of”", "3: “goes by”", "6: “such numbers”"]
    assert wrong == [*phrases, "5: `found`", "6: `one`"]


def test_plain_wording_has_no_faults(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(TEXT, encoding="utf-8")

    assert list(faults(str(tmp_path / "page.md"))) == []
