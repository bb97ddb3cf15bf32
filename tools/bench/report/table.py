"""Formats the results as a table."""

from collections.abc import Iterable, Mapping

from tools.bench.report.results import NOISY, Row

# Groups of processes in the order of the report, and their names.
GROUPS = {
    "web": "web",
    "floor": "web",
    "hello": "web",
    "process": "process",
    "worker": "worker",
    "simulator": "sim",
    "postgres": "pg",
    "redis": "redis",
    "client": "client",
}
STOLEN = 0.1  # cores, worth telling
DRIFT = 1.3  # times, worth telling
_WIDTHS = (9, 3, 8, 7, 7, 8, 6, 6, 6, 5)
_HEAD = ("row", "c", "side", "per s", "p50 ms", "p99 ms", "errors", "others", "fsync", "loop")


def table(rows: Iterable[Row]) -> str:
    lines = [_line(_HEAD) + "  CPU µs each"]
    for row in rows:
        lines += ["", *_row(row)]
    return "\n".join(lines)


def _row(row: Row) -> list[str]:
    lines = []
    for number, side in enumerate(row.sides):
        first = (row.name, str(row.connections or "")) if number == 0 else ("", "")
        noisy = "!" if row.others(side) > NOISY else ""
        figures = (
            f"{row.middle(side, 'rate'):,.0f}",
            f"{row.middle(side, 'p50'):.2f}",
            f"{row.middle(side, 'p99'):.2f}",
            str(row.errors(side)),
            f"{row.others(side):.2f}{noisy}",
            f"{row.middle(side, 'fsync'):.0f}",
            f"{row.middle(side, 'loop'):.1f}",
        )
        lines.append(_line((*first, side, *figures)) + "  " + cpu(row.cpu(side)))
    return lines + [f"{'':13} {text}" for text in _verdict(row)]


def _verdict(row: Row) -> list[str]:
    lines = []
    if ratio := row.ratio():
        rounds = " ".join(f"{one:.2f}" for one in ratio[1])
        of = "" if row.compared == "rate" else f" of {row.compared}"
        lines.append(f"ratio{of} {ratio[0]:.3f} ({rounds}){_against(row, ratio[0])}")
    for figure, (must, aim) in row.limits.items():
        value = row.middle(row.subject, figure)
        mark = _mark(is_enough=value <= must, is_aim=value <= aim)
        lines.append(f"{figure} {value:.2f} ms: at most {must:g}, aim {aim:g}  {mark}")
    if notes := row.notes():
        lines.append(" · ".join(f"{name} {_number(value)}" for name, value in notes.items()))
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _against(row: Row, value: float) -> str:
    if row.least is None:
        return ""
    aim = row.aim if row.aim is not None else row.least
    mark = _mark(is_enough=row.reaches(value, row.least), is_aim=row.reaches(value, aim))
    word = "at most" if row.at_most else "at least"
    aimed = f", aim {row.aim:g}" if row.aim is not None else ""
    return f": {word} {row.least:g}{aimed}  {mark}"


def _mark(*, is_enough: bool, is_aim: bool) -> str:
    if is_aim:
        return "OK"
    return "enough, below the aim" if is_enough else "MISSED"


def cpu(groups: Mapping[str, float]) -> str:
    """What each group of processes spent on one request; those that stood by are left out."""
    least = sum(groups.values()) / 100
    shown = {name: groups[name] for name in GROUPS if groups.get(name, 0.0) > least}
    return " · ".join(f"{GROUPS[name]} {each:,.0f}" for name, each in shown.items())


LEGEND = """\
p99 counts what a stall kept waiting, too (wrk's correction). others: cores that none of ours took.
fsync: µs, the mean of the log's. loop: ms of a fixed piece of Python just before; where it differs
between two sides, or two runs, so did the processor. CPU: µs for each request, by processes."""


def summary(rows: Iterable[Row]) -> str:
    rows = list(rows)
    misses = [miss for row in rows for miss in row.misses()]
    wrong = [row.label for row in rows if any(one.errors for one in row.intervals)]
    noisy = [row.label for row in rows if row.is_noisy()]
    lines = [LEGEND, "", f"Below what is asked: {'; '.join(misses) or 'nothing'}."]
    drift = max((row.drift() for row in rows), default=1.0)
    stolen = max((one.steal for row in rows for one in row.intervals), default=0.0)
    if wrong:
        lines.append(f"With wrong or missing answers: {', '.join(wrong)}.")
    if noisy:
        lines.append(f"! Others took more than {NOISY} cores meanwhile: {', '.join(noisy)}.")
    if drift > DRIFT:
        lines.append(f"A fixed piece of work took up to {drift:.1f} times as long as at its best.")
    if stolen > STOLEN:
        lines.append(f"The host took up to {stolen:.2f} cores from this machine.")
    return "\n".join(lines)


def _line(words: Iterable[str]) -> str:
    parts = [
        word.ljust(width) if place in (0, 2) else word.rjust(width)
        for place, (word, width) in enumerate(zip(words, _WIDTHS, strict=True))
    ]
    return " ".join(parts)
