"""Parts that `.sql` files repeat, so that each reads as it stands, are equal in each."""

import ast
import re

from channels.models import stored_fields
from tests.packages import PACKAGES, ROOT

SEND_CODES = (ROOT / "otp/send/send.sql").read_text(encoding="utf-8")
SEND_LINK = (ROOT / "links/make/send.sql").read_text(encoding="utf-8")
STATE_MACHINE = ROOT / "channels/lifecycle/state_machine.py"
CHECK = (ROOT / "otp/check/check.sql").read_text(encoding="utf-8")


def parameters(statement: str) -> dict[str, str]:
    """The types of the parameters that are selected under their own names."""
    selected = re.findall(r"%\((\w+)\)s::([\w\[\]]+) AS (\w+)", statement)
    return {name: kind for parameter, kind, name in selected if parameter == name}


def columns(statement: str) -> dict[str, str]:
    """The types of the columns of the JSON rows."""
    (listed,) = re.findall(
        r"json_to_recordset\(.*?\) AS \w+\((.*?)\)\s+LIMIT", statement, re.DOTALL
    )
    return dict(re.findall(r"(\w+) ([\w\[\]]+)", listed))


def inserted_message(statement: str) -> str:
    (insert,) = re.findall(
        r"^message AS \((.*?)^  FROM paid\)", statement, re.DOTALL | re.MULTILINE
    )
    return str(insert)


def test_row_of_a_group_has_the_parameters_of_one() -> None:
    for statement in (SEND_CODES, CHECK):
        assert parameters(statement) == columns(statement) != {}


def test_sends_of_codes_and_links_have_the_same_message() -> None:
    of_links = parameters(SEND_LINK)

    assert of_links.items() < parameters(SEND_CODES).items()
    assert {"message_id", "idem_hash", *stored_fields.NAMES} <= of_links.keys()
    assert inserted_message(SEND_LINK) == inserted_message(SEND_CODES)
    assert all(f" {name}," in inserted_message(SEND_LINK) for name in stored_fields.NAMES)


def texts(*suffixes: str) -> dict[str, str]:
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*")]
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in files
        if path.suffix in suffixes
    }


def test_existence_is_asked_for_in_one_way() -> None:
    asked = re.compile(r"EXISTS \((?:\s*--.*)?\s*SELECT (\S+)")

    assert {what for text in texts(".sql", ".py").values() for what in asked.findall(text)} == {
        "FROM"
    }


def test_every_statement_has_a_comment_above_it_or_above_the_whole_file() -> None:
    header = re.compile(r"\A(?:--(?!:).*\n)+\n")
    bare = re.compile(r"(?:\A|^(?!--(?!:)).*\n)--: (\w+)", re.MULTILINE)

    files = {file: text for file, text in texts(".sql").items() if not header.match(text)}

    assert {file: bare.findall(text) for file, text in files.items() if bare.search(text)} == {}


def test_file_of_a_single_statement_has_a_comment() -> None:
    assert [file for file, text in texts(".sql").items() if "--" not in text] == []


def test_comment_stands_above_the_name_of_its_statement() -> None:
    below = re.compile(r"^--: \w+\n--(?!:)", re.MULTILINE)

    assert [file for file, text in texts(".sql").items() if below.search(text)] == []


def test_state_machine_names_the_statements_that_decide_as_it_does() -> None:
    docstring = ast.get_docstring(ast.parse(STATE_MACHINE.read_text(encoding="utf-8"))) or ""
    tests = dict(re.findall(r"`([\w/]+\.sql)`[^`]+`(test_\w+)`", docstring))
    writers = {
        str(path.relative_to(ROOT))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.sql")
        if re.search(r"UPDATE channels_\w+ \w+ SET state = '", path.read_text(encoding="utf-8"))
    }
    files = (ROOT / "tests").rglob("test_*.py")
    sources = "".join(path.read_text(encoding="utf-8") for path in files)

    assert writers < tests.keys()
    for file, test in tests.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert "`channels/lifecycle/state_machine.py`" in text
        assert f"`{test}`" in text
        assert f"def {test}(" in sources
