"""Formats a profile: each table adds up to the CPU that the kernel counted."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tools.bench.profile import python_stacks
from tools.bench.profile.windows import Profile
from tools.bench.results import percentile
from tools.command_line import columns

MIN_SHARE = 0.004  # of a table's total; smaller rows are summed up in one
LINES = 14  # of our code, per program
WEB = ("web 1", "web 2")
BESIDE = ("client", "simulator", "postgres for the bench")  # not part of the service


def text(profile: Profile) -> str:
    parts = [_processes(profile), _counts(profile)]
    for title, names in _programs(profile):
        parts.append(_python(profile, title, names))
    parts += [_statements(profile, name) for name in sorted(profile.statements)]
    return "\n\n".join(part for part in parts if part)


def _programs(profile: Profile) -> list[tuple[str, tuple[str, ...]]]:
    programs = [(name, (name,)) for name in ("worker", "beat") if name in profile.python]
    return [("web", tuple(name for name in profile.python if name in WEB)), *programs]


def _processes(profile: Profile) -> str:
    plain = profile.plain
    service = [name for name in plain.spent if name not in BESIDE]
    service.sort(key=lambda name: -plain.us(name))
    rows: list[Sequence[str]] = [
        ("process", "µs", "range"),
        *(_process(profile, name) for name in service),
        ("the service", f"{sum(map(plain.us, service)):,.0f}"),
        *(_process(profile, name) for name in BESIDE if name in plain.spent),
    ]
    answers = [1000 * s for s in profile.answers]
    p50, p99 = percentile(answers, 0.5), percentile(answers, 0.99)
    return "\n".join(
        [
            f"CPU of one message, µs ({plain.messages} messages, undisturbed; ranges of"
            f" {len(plain.rounds)} rounds; others took {median(plain.others):.2f} cores)",
            *columns(rows),
            f"a send is answered in p50 {p50:.1f} ms, p99 {p99:.1f} ms",
        ]
    )


def _process(profile: Profile, name: str) -> Sequence[str]:
    plain = profile.plain
    rounds = [cost.get(name, 0.0) for cost in plain.rounds]
    return name, f"{plain.us(name):,.0f}", f"{min(rounds):,.0f}-{max(rounds):,.0f}"


def _counts(profile: Profile) -> str:
    counts = dict(sorted(profile.counts.items(), key=lambda each: each[0].startswith("Redis")))
    if profile.logged.messages:
        calls = [
            c.calls for costs in profile.statements.values() for c in costs.statements.values()
        ]
        counts["PostgreSQL statements"] = sum(calls) / profile.logged.messages
    lines = [f"{name:<26}{value:>12,.2f}" for name, value in counts.items() if abs(value) >= 0.005]
    return "\n".join(["Counted for one message, without what an idle service does", *lines])


def _python(profile: Profile, title: str, names: tuple[str, ...]) -> str:
    """The table of causes by activity, and the hottest lines."""
    count = profile.sampled.messages
    samples: Counter[tuple[str, str]] = Counter()
    lines: Counter[tuple[str, str]] = Counter()
    for name in names:
        samples += profile.python[name]
        lines += profile.lines[name]
    us = python_stacks.INTERVAL * 1000 / count
    total = sum(profile.sampled.us(name) for name in names)
    cells = {key: count * us for key, count in samples.items()}
    head = (
        f"{title}: CPU of one message by activity and by whose code ran, µs"
        f" ({samples.total()} samples)"
    )
    rows = matrix(cells, total)
    hottest = [
        f"  {count * us:7,.0f}  {doing}: {source}"
        for (doing, source), count in lines.most_common(LINES)
    ]
    return "\n".join([head, *rows, "our innermost line, everything that it calls:", *hottest])


def matrix(cells: Mapping[tuple[str, str], float], total: float) -> list[str]:
    """Rows are causes, columns activities. CPU that no sample explains has its own row."""
    doing, causes = _largest(cells, 0, 0.02 * total), _largest(cells, 1, MIN_SHARE * total)
    small = sum(value for (_, cause), value in cells.items() if cause not in causes)
    sums = [sum(v for (name, _), v in cells.items() if name == column) for column in doing]
    ends = {"smaller ones": small, "not attributed": total - sum(cells.values())}
    rows: list[Sequence[str]] = [("", *doing, "all")]
    for row in causes:
        sum_of_row = sum(value for (_, cause), value in cells.items() if cause == row)
        values = (*(cells.get((column, row), 0.0) for column in doing), sum_of_row)
        rows.append((row, *(f"{value:,.0f}" for value in values)))
    rows += [(name, *("" for _ in doing), f"{value:,.0f}") for name, value in ends.items()]
    rows.append(("as the kernel counted", *(f"{value:,.0f}" for value in (*sums, total))))
    return columns(rows)


def _largest(cells: Mapping[tuple[str, str], float], index: int, least: float) -> list[str]:
    sums: defaultdict[str, float] = defaultdict(float)
    for key, value in cells.items():
        sums[key[index]] += value
    ordered = sorted(sums, key=lambda name: -sums[name])
    return [name for name in ordered if sums[name] >= least]


def _statements(profile: Profile, program: str) -> str:
    if program in BESIDE:
        return ""
    costs, count = profile.statements[program], profile.logged.messages
    total = profile.logged.us(program)
    rows: list[Sequence[str]] = [
        ("statement", "calls", "parse", "bind", "execute", "after", "all", "each")
    ]
    remaining, small = total, 0.0
    for name, cost in sorted(costs.statements.items(), key=lambda each: -each[1].cpu):
        us = cost.cpu * 1e6 / count
        remaining -= us
        if us < MIN_SHARE * total:
            small += us
            continue
        parts = (cost.parse, cost.bind, cost.execute, cost.after, cost.cpu)
        cells = [f"{part * 1e6 / count:,.0f}" for part in parts]
        each = f"{cost.cpu * 1e6 / cost.calls:,.0f}" if cost.calls else ""
        rows.append((name[-59:], f"{cost.calls / count:.2f}", *cells, each))
    logging = costs.logging * 1e6 / count
    sums = {"smaller ones": small, "the log itself": logging, "not attributed": remaining - logging}
    sums["as the kernel counted"] = total
    ends = [(name, "", "", "", "", "", f"{value:,.0f}") for name, value in sums.items()]
    title = f"{program}: CPU of its statements for one message, µs"
    return "\n".join([title, *columns([*rows, *ends])])


def as_dict(profile: Profile) -> dict[str, Any]:
    """The report as a dict for the file."""
    plain, count = profile.plain, profile.logged.messages or 1
    windows = {"cpu_us": plain, "sampled_us": profile.sampled, "logged_us": profile.logged}
    facts: dict[str, Any] = {
        title: {name: window.us(name) for name in window.spent} for title, window in windows.items()
    }
    for title, counted in (("python", profile.python), ("lines", profile.lines)):
        facts[title] = {
            program: {
                f"{doing}: {function}": count for (doing, function), count in counts.most_common()
            }
            for program, counts in counted.items()
        }
    facts["statements"] = {
        program: {
            name: {
                part: value / count * (1 if part == "calls" else 1e6)
                for part, value in cost.parts()
            }
            for name, cost in costs.statements.items()
        }
        for program, costs in profile.statements.items()
    }
    return facts | {"rounds": plain.rounds, "others": plain.others, "counts": profile.counts}
