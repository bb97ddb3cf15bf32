"""`make lint`: refuses phrases that stop a native reader, and names of variables that say nothing.

In Python: comments and texts (of tests: comments and docstrings), variables of functions,
parameters. Templates, documents and SQL whole. Changelogs and decisions stay as they were written.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

PHRASES = {
    r"of (before|then|lately)|of after \w+|as of (an?|before|lately)": "earlier, older than, like",
    r"(what|that|which|it|one) (is|are|was) none|(is|are|was|were) none of": "is no …, is not a …",
    r"(?<!no )such (?!as\b|an?\b)[a-z]+": "these; or name the thing again",
    r"(go|goes|going|went) by(?! themselves)": "uses, follows, is sent through",
    r"mend(s|ed)?|anew|heard? of": "fix; again; is notified of, learns of",
    r"so many (?!that\b)[a-z]+": "N, a number of, this many",
    r"what is (no|none|not)": "anything else, all but …, a missing …",
    r"(by|of|from|with|than|in|to|on|at) what (is|was|are|were) [a-z]+": "name the thing",
    r"(have|has|having) (your|the|its) \w+ (send|solve|begin|make|call|ask|write)": "makes it do",
    r"(?<=\"\"\")(?-i:Of|Those|That of)|(?<=# )(?-i:Of)": "name the thing first: the … of",
    r"(keep|cost|hold|block)s? no others?": "does not hold up the others",
    r"\w+, say(?=[.;)])": "such as …; for example",
    r"(are|is|was|were) told nothing|not together with": "does not see; cannot be combined with",
    r"(stands?|stood) (on|below|beside|in(?! for\b| front\b))": "is in, is shown in, is next to",
    r"(stands?|stood) (as it|still|between|around|above)": "is in, is shown in, is next to",
    r"whoever|nobody's": "the person, caller or worker; belongs to nobody",
    r"of ours": "our …, one of our …",
    r"lately": "recently",
    r"worded": "as text, written",
    r"(?<=\"\"\")(?-i:What|Who|Whom|How|Where)": "name the value, or the verb, first",
    r"(phone|number|subscriber)(s|'s|s')? operators?|at the operator": "carrier: the phone company",
}
# In the product: tests may still say how their data differs.
OPENING = r"(?<=\"\"\")(By|As|From|With|Without|After|In|Under|Whose|That|None for)\b"
NAMES = {
    *(
        "asked",
        "chosen",
        "found",
        "given",
        "half",
        "kept",
        "known",
        "made",
        "mark",
        "mine",
        "named",
    ),
    *("one", "own", "place", "said", "told", "wanted", "whom", "whose", "words"),
}
FILES = ("*.py", "*.html", "*.txt", "*.md", "*.sql", ".env.example")
HISTORY = ("CHANGELOG.md", "docs/decisions/", "api_docs/pages/changelog.py")
OTHERS = ("tests/vendor/", "requirements/", "tools/wording.py")
REFUSED = {re.compile(rf"\b({text})\b", re.IGNORECASE): better for text, better in PHRASES.items()}


def texts(source: str, *, is_test: bool) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_text = token.type == tokenize.STRING and (not is_test or token.string.startswith('"""'))
        if is_text or token.type == tokenize.COMMENT:
            yield from enumerate(token.string.splitlines(), start=token.start[0])


def variables(source: str) -> Iterator[tuple[int, str]]:
    for scope in ast.walk(ast.parse(source)):
        if isinstance(scope, ast.FunctionDef | ast.Lambda | ast.comprehension):
            for node in ast.walk(scope):
                if isinstance(node, ast.arg):
                    yield node.lineno, node.arg
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.lineno, node.id


def faults(path: str) -> Iterator[str]:
    source, is_test = Path(path).read_text(encoding="utf-8"), path.startswith("tests/")
    is_code = path.endswith(".py")
    wrong = {pattern: better for pattern, better in REFUSED.items() if pattern.search(source)}
    lines = texts(source, is_test=is_test) if is_code else enumerate(source.splitlines(), start=1)
    if is_code and not is_test:
        wrong[re.compile(OPENING)] = "name the value, or the verb, first"
    for number, line in lines if wrong else ():
        for pattern, better in wrong.items():
            if match := pattern.search(line):
                yield f"{path}:{number}: “{match[0]}”; better: {better}"
    for number, name in sorted(set(variables(source))) if is_code and not is_test else ():
        if name in NAMES:
            yield f"{path}:{number}: `{name}`; better: what the variable holds"


if __name__ == "__main__":
    command = ["git", "ls-files", *FILES]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    paths = [path for path in listed.stdout.split() if not path.startswith(HISTORY + OTHERS)]
    sys.exit("\n".join(fault for path in paths for fault in faults(path)) or 0)
