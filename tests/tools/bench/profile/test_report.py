"""Tables add up."""

from tools.bench.profile import report


def test_matrix_shows_what_nothing_explains() -> None:
    cells = {
        ("send", "psycopg"): 60.0,
        ("send", "DRF"): 20.0,
        ("verify", "psycopg"): 10.0,
        ("x", "y"): 0.1,
    }

    lines = [line.split() for line in report.matrix(cells, total=100.0)]

    assert lines == [
        ["send", "verify", "all"],
        ["psycopg", "60", "10", "70"],
        ["DRF", "20", "0", "20"],
        ["smaller", "ones", "0"],
        ["not", "attributed", "10"],
        ["as", "the", "kernel", "counted", "80", "10", "100"],
    ]
