"""The report on coverage names modules below the least coverage."""

from tests.coverage_report import complaints, low_modules

COVERED = {"a": 81.9, "b": 85.0, "c": 12.0}


def test_low_modules_come_with_the_least_covered_first() -> None:
    assert list(low_modules(COVERED).items()) == [("c", 12.0), ("a", 81.9)]


def test_every_low_module_needs_a_reason() -> None:
    assert [complaint.partition(":")[0] for complaint in complaints(COVERED, {"a": "why"})] == ["c"]
    assert complaints(COVERED, {"a": "why", "c": "why"}) == []


def test_module_just_below_is_named_and_fails_no_run() -> None:
    assert low_modules({"a": 84.0}) == {"a": 84.0}
    assert complaints({"a": 84.0}, {}) == []


def test_reason_for_a_module_that_is_gone_is_named() -> None:
    reasons = {"a": "why", "c": "why", "gone": "why"}

    assert [complaint.partition(":")[0] for complaint in complaints(COVERED, reasons)] == ["gone"]
