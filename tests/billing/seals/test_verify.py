"""`kvitok-verify.py` as a company runs it: on its files, without our code."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from billing.models import Seal
from billing.seals import sealing, statement_check
from config.environment.variables import ROOT
from tests.billing.seals.books import busy_company, day
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db
Rows = list[list[str]]
ROWS = 20  # with the names of the columns
SEALED = 19  # the last one of today is open


@dataclass
class Files:
    """A statement and its heads, as downloaded."""

    place: Path
    rows: Rows
    heads: dict[str, Any]

    def prove(self, *options: str) -> tuple[int, str]:
        statement, heads = self.write()
        given = options if "--head" in options else (str(heads), *options)
        program = str(ROOT / "static/kvitok-verify.py")
        command = [sys.executable, "-I", program, str(statement), *given]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.place)
        assert done.stderr == "" or done.returncode == 2
        return done.returncode, done.stdout + done.stderr

    def write(self) -> tuple[Path, Path]:
        statement = self.place / "statement.csv"
        heads = self.place / "heads.json"
        with statement.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows(self.rows)
        heads.write_text(json.dumps(self.heads))
        return statement, heads

    def sealed(self, row: int) -> list[Any]:
        line: list[Any] = json.loads(self.rows[row - 1][7])
        return line

    def reseal(self, row: int, line: list[Any]) -> None:
        """Seals as a forger would who knows the format."""
        self.rows[row - 1][7] = json.dumps(line, ensure_ascii=False)


@pytest.fixture
def files(client: Client, tmp_path: Path) -> Files:
    busy_company()
    member = MemberFactory.create(company=busy_company(), role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    sealing.seal()
    return downloaded(client, tmp_path)


def downloaded(client: Client, directory: Path) -> Files:
    response: Any = client.get(reverse("balance-csv"), {"kind": "all"})
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text), delimiter=";"))
    return Files(directory, rows, client.get(reverse("balance-heads")).json())


def test_statement_as_downloaded_is_proved(files: Files) -> None:
    assert len(files.rows) == ROWS

    code, said = files.prove()

    assert code == 0
    assert said.splitlines() == [
        f"Proved: 7 heads agree with the rows up to row {SEALED}.",
        f"The last one is of {day(64)}: {files.heads['data'][-1]['head']}",
        "Not proved: 1 rows after it, which no head covers yet.",
    ]


def test_single_heads_prove_it_too(files: Files) -> None:
    heads = [f"--head={row['day']}={row['head']}" for row in files.heads["data"][2::2]]
    options = [part for head in heads for part in head.split("=", 1)]

    assert files.prove(*options)[0] == 0


def test_english_statement_is_proved(client: Client, files: Files) -> None:
    client.cookies["django_language"] = "en"
    response: Any = client.get(reverse("balance-csv"), {"kind": "all"})
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    files.rows = list(csv.reader(io.StringIO(text)))

    assert files.prove()[0] == 0


def change_the_amount_shown(files: Files) -> None:
    files.rows[4][2] = "1"


def change_an_amount_everywhere(files: Files) -> None:
    """Changes a hold and its release alike, so that no balance shows it."""
    for row in (16, 17):
        line = files.sealed(row)
        line[3] = 4
        files.rows[row - 1][2] = "4"
        files.reseal(row, line)


def change_a_note(files: Files) -> None:
    line = files.sealed(13)
    line[8] = files.rows[12][6] = "another"
    files.reseal(13, line)


def move_a_time(files: Files) -> None:
    line = files.sealed(3)
    line[1] = line[1].replace("12:00:00", "12:00:01")
    files.reseal(3, line)


def drop_a_hold(files: Files) -> None:
    del files.rows[15]


def drop_a_charge(files: Files) -> None:
    del files.rows[3]


def drop_the_last_day(files: Files) -> None:
    del files.rows[17:]


def add_a_row(files: Files) -> None:
    line = files.sealed(16)
    line[0] += 1_000_000
    files.rows.insert(16, list(files.rows[15]))
    files.reseal(17, line)


def swap_two_rows(files: Files) -> None:
    files.rows[2], files.rows[3] = files.rows[3], files.rows[2]


def give_another_head(files: Files) -> None:
    files.heads["data"][3]["head"] = "0" * 64


def give_another_balance(files: Files) -> None:
    files.heads["data"][3]["balance"] += 1


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (change_the_amount_shown, "row 5: the tokens are 1, and 2 as sealed"),
        (change_an_amount_everywhere, "the chain breaks between row 16 and row 17"),
        (change_a_note, "the chain breaks between row 11 and row 13"),
        (move_a_time, "the chain breaks between row 2 and row 4"),
        (drop_a_hold, "the chain breaks between row 16 and row 16"),
        (drop_a_charge, "the chain breaks between row 2 and row 3"),
        (drop_the_last_day, "the file ends before all rows of"),
        (add_a_row, "the chain breaks between row 16 and row 18"),
        (swap_two_rows, "row 4 is out of order"),
        (give_another_head, "the chain breaks between row 11 and row 13"),
        (give_another_balance, "the chain breaks between row 11 and row 13"),
    ],
)
def test_forgery_is_found(files: Files, forge: Callable[[Files], None], said: str) -> None:
    forge(files)

    code, output = files.prove()

    assert code == 1, output
    assert said in output


def test_statement_that_begins_later_is_proved_from_a_head(files: Files) -> None:
    after = files.heads["data"][2]["day"]
    files.rows[1:8] = [["", "Входящий остаток", "", "", "496", "", "", ""]]

    assert files.prove("--after", after)[0] == 0
    assert files.prove()[0] == 1
    assert files.prove("--after", str(day(5)))[0] == 2


DEEP = "[" * 100_000 + "]" * 100_000
HUGE = "1" + "0" * 5000
LONG_NUMBER = "9" * 4300  # digits that Python reads and writes, but not of a sum
ODD = [
    "Infinity",
    "-Infinity",
    "NaN",
    "1e999",
    "1.5",
    "true",
    "null",
    '"2"',
    HUGE,
    DEEP,
    "{}",
    LONG_NUMBER,
]
HALF = '"2026-\\ud800-01T12:00:00"'  # of a character


def test_odd_values_break_only_the_proof(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs in this process, because the many runs would otherwise take a minute."""
    files.prove()
    verify = statement_check.program()
    row = list(files.rows[4])
    statement = str(files.place / "statement.csv")
    heads = str(files.place / "heads.json")

    # The id, the time and the amount of a sealed line; the last is shown, too.
    for column, values in ((0, ODD), (1, [HALF, "null"]), (3, ODD)):
        for value in values:
            line = json.loads(row[7])
            line[column] = "HERE"
            shown = [*row[:2], value, value, *row[4:7]] if column == 3 else row[:7]
            files.rows[4] = [*shown, json.dumps(line).replace('"HERE"', value)]
            files.write()
            assert verify.main([statement, heads]) == 1
            assert capsys.readouterr().out == "NOT PROVED: row 5 cannot be read\n"
    for column in range(2, 8):
        for text in ("x" * 200_000, DEEP, "", "Infinity", '"\\ud800"', "1_0", "\x0b"):
            if text == row[column]:
                continue
            files.rows[4] = [*row[:column], text, *row[column + 1 :]]
            files.write()
            assert verify.main([statement, heads]) == 1
            assert capsys.readouterr().out.startswith("NOT PROVED: row 5")
    files.rows[4] = row
    files.write()
    for name in ("day", "head", "transfers", "balance"):
        for value in ODD:
            body = json.loads(json.dumps(files.heads))
            body["data"][1][name] = "HERE"
            Path(heads).write_text(json.dumps(body).replace('"HERE"', value))
            assert verify.main([statement, heads]) in {1, 2}
    for raw in (b"", b"\xff\xfe", b"\x00" * 9, b"a;b\n", b'"' * 300_000, DEEP.encode()):
        Path(heads).write_bytes(raw)
        assert verify.main([statement, heads]) == 2
        Path(heads).write_text(json.dumps(files.heads))
        (files.place / "odd.csv").write_bytes(raw)
        assert verify.main([str(files.place / "odd.csv"), heads]) in {1, 2}


def test_rows_without_holds_are_not_the_whole_statement(files: Files) -> None:
    files.rows = [row for row in files.rows if '"hold"' not in row[7] and '"release"' not in row[7]]

    code, said = files.prove()

    assert code == 2
    assert "download the whole statement" in said


def test_unreadable_files_are_named(files: Files) -> None:
    files.rows = [row[:7] for row in files.rows]
    assert files.prove()[0] == 2

    files.heads = {"error": "no"}
    assert "has no heads" in files.prove()[1]


def test_only_own_heads_are_downloaded(files: Files) -> None:
    assert Seal.objects.count() == 2 * len(files.heads["data"]) == 14
