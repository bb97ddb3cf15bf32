"""The modules that the tests cover too little of, each with its reason; part of `make test`."""

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

MIN_COVERAGE = 85.0  # percent of lines and branches
SLACK = 3.0  # below MIN_COVERAGE: a few branches depend on timing; no run should fail by one
REPORT = Path("var/coverage/report.json")
REASONS = Path(__file__).parent / "coverage_gaps.toml"
MISSING = "no reason given"


def low_modules(covered: Mapping[str, float]) -> dict[str, float]:
    """Module → percent, the least covered first."""
    low = {path: percent for path, percent in covered.items() if percent < MIN_COVERAGE}
    return dict(sorted(low.items(), key=lambda item: (item[1], item[0])))


def complaints(covered: Mapping[str, float], reasons: Mapping[str, str]) -> list[str]:
    low = low_modules(covered)
    return [
        *(
            f"{path}: {percent:.1f} % is below {MIN_COVERAGE:g} %, and {MISSING}"
            for path, percent in low.items()
            if path not in reasons and percent < MIN_COVERAGE - SLACK
        ),
        *(f"{path}: has a reason, but is no module" for path in reasons if path not in covered),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="of all quick tests: fail on a gap")
    is_checked = parser.parse_args().check
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    covered = {path: file["summary"]["percent_covered"] for path, file in report["files"].items()}
    sys.stdout.write(f"{report['totals']['percent_covered']:.1f} % of lines and branches\n")
    for path, percent in low_modules(covered).items():
        sys.stdout.write(f"{percent:5.1f} %  {path}  {reasons.get(path, MISSING)}\n")
    result = complaints(covered, reasons) if is_checked else []
    sys.stdout.writelines(f"{complaint}\n" for complaint in result)
    return bool(result)


if __name__ == "__main__":
    sys.exit(main())
