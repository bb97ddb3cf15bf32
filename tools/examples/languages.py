"""The languages of docs/examples: their tools, how to install them, how to run examples."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from config.environment.variables import ROOT

SOURCES = ROOT / "docs/examples"
STEMS = ("send_code", "verify_code", "shorten", "send_link", "handle_errors", "verify_webhook")
_CRATES = Path("/usr/share/cargo/registry")  # Debian's, for machines without access to others
_JARS = Path("/usr/share/java")
_BUILD_SECONDS = 900
_DEBIAN = f"""[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "{_CRATES}"
"""


class MissingError(Exception):
    """A tool for a language is missing on this machine."""


class BuildError(Exception):
    """The compiler's output."""


@dataclass(frozen=True)
class Workspace:
    """The folder of a language's examples, and the one for its builds."""

    source: Path
    build: Path

    def copy(self) -> Path:
        """The sources in the build folder, for tools that write next to them."""
        shutil.copytree(self.source, self.build, dirs_exist_ok=True)
        return self.build


@dataclass(frozen=True)
class Toolchain:
    version: str
    command: Callable[[str], Sequence[str | Path]]  # of the example with this file name


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float = 60,
) -> tuple[int, str]:
    """Returns the exit code and the whole output."""
    process = subprocess.run(  # noqa: S603 - the examples, and the tools they are built with
        command,
        cwd=cwd,
        env=dict(env) if env is not None else None,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        check=False,
    )
    return process.returncode, process.stdout.decode(errors="replace").strip()


def build(command: Sequence[str | Path], *, cwd: Path | None = None) -> str:
    code, output = run(command, cwd=cwd, seconds=_BUILD_SECONDS)
    if code != 0:
        raise BuildError(output[-2000:])
    return output


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise MissingError(f"no {name}")
    return path


def version(*command: str) -> tuple[str, tuple[int, ...]]:
    """A tool's version, as text and as numbers."""
    _code, output = run(command)
    match = re.search(r"\d+(\.\d+)+", output)
    text = match[0] if match else "?"
    return text, tuple(map(int, re.findall(r"\d+", text)))


def curl(workspace: Workspace) -> Toolchain:
    for name in ("bash", "curl", "jq", "openssl"):
        tool(name)
    description = f"curl {version('curl', '--version')[0]}, bash {version('bash', '--version')[0]}"
    return Toolchain(description, lambda file: ["bash", workspace.source / file])


def python(workspace: Workspace) -> Toolchain:
    description = f"Python {platform.python_version()}"
    return Toolchain(description, lambda file: [sys.executable, workspace.source / file])


def javascript(workspace: Workspace) -> Toolchain:
    node = tool("node")
    text, numbers = version(node, "--version")
    if numbers < (18,):
        raise MissingError(f"Node.js 18 or newer; this one is {text}")
    if not (workspace.build / "node_modules/standardwebhooks").is_dir():
        raise MissingError("no standardwebhooks")
    sources = workspace.copy()  # next to the packages they import
    return Toolchain(f"Node.js {text}", lambda file: [node, sources / file])


def typescript(workspace: Workspace) -> Toolchain:
    """Node.js strips types itself since 22.18; before that tsx does. `tsc` checks them."""
    node, modules = tool("node"), workspace.build / "node_modules"
    tsc, tsx = modules / ".bin/tsc", modules / ".bin/tsx"
    if not tsc.exists() or not tsx.exists() or not (modules / "standardwebhooks").is_dir():
        raise MissingError("no typescript, tsx and standardwebhooks")
    sources = workspace.copy()
    build([tsc, "--project", sources])
    text, numbers = version(node, "--version")
    runner = [node] if numbers >= (22, 18) else [tsx]
    description = f"TypeScript {version(str(tsc), '--version')[0]}, Node.js {text}"
    return Toolchain(description, lambda file: [*runner, sources / file])


def go(workspace: Workspace) -> Toolchain:
    compiler = tool("go")
    for file in sorted(workspace.source.glob("*.go")):
        build([compiler, "vet", file])
        build([compiler, "build", "-o", workspace.build / file.stem, file])
    description = f"Go {version(compiler, 'version')[0]}"
    return Toolchain(description, lambda file: [workspace.build / Path(file).stem])


def java(workspace: Workspace) -> Toolchain:
    runner, compiler = tool("java"), tool("javac")
    text, numbers = version(runner, "--version")
    jars = [_JARS / f"jackson-{part}.jar" for part in ("databind", "core", "annotations")]
    if numbers < (17,) or not all(jar.exists() for jar in jars):
        raise MissingError("a JDK of 17 or newer with Jackson is needed")
    path = os.pathsep.join(map(str, [workspace.build, *jars]))
    sources = sorted(workspace.source.glob("*.java"))
    build([compiler, "-Xlint:all", "-Werror", "-cp", path, "-d", workspace.build, *sources])
    return Toolchain(f"OpenJDK {text}", lambda file: [runner, "-cp", path, Path(file).stem])


def php(workspace: Workspace) -> Toolchain:
    runner = tool("php")
    if "curl" not in run([runner, "-m"])[1].splitlines():
        raise MissingError("PHP without its curl extension")
    description = f"PHP {version(runner, '--version')[0]}"
    return Toolchain(description, lambda file: [runner, workspace.source / file])


def rust(workspace: Workspace) -> Toolchain:
    """Rust with the crates of the network's registry, or Debian's where they are installed."""
    cargo, sources = tool("cargo"), workspace.copy()
    offline = _CRATES.is_dir()
    if offline:
        (workspace.build / ".cargo").mkdir(exist_ok=True)
        (workspace.build / ".cargo/config.toml").write_text(_DEBIAN, encoding="utf-8")
    build([cargo, "build", "--quiet"], cwd=sources)
    description = f"Rust {version('rustc', '--version')[0]}"
    return Toolchain(description, lambda file: [workspace.build / "target/debug" / Path(file).stem])


def apt_get(_place: Workspace, packages: Iterable[str]) -> None:
    build([tool("apt-get"), "install", "-y", "--no-install-recommends", *packages])


def npm(workspace: Workspace, packages: Iterable[str]) -> None:
    workspace.build.mkdir(parents=True, exist_ok=True)
    arguments = [
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(workspace.build),
    ]
    build([tool("npm"), *arguments, *packages])


def csharp(workspace: Workspace) -> Toolchain:
    dotnet = tool("dotnet")
    text, numbers = version(dotnet, "--version")
    if numbers < (8,):
        raise MissingError(f"a .NET SDK of 8 or newer; this one is {text}")
    sources = workspace.copy()
    for file in sorted(sources.glob("*.cs")):
        out = workspace.build / "out" / file.stem
        build([dotnet, "build", f"-p:Example={file.stem}", "-o", out], cwd=sources)
    output = workspace.build / "out"
    return Toolchain(
        f".NET {text}", lambda file: [dotnet, output / Path(file).stem / "Examples.dll"]
    )


_BUILDS = ROOT / "var/examples"


@dataclass(frozen=True)
class Language:
    name: str  # of its folder
    suffix: str
    prepare: Callable[[Workspace], Toolchain]
    install: Callable[[Workspace], None]
    capitals: bool = False  # SendCode, not send_code

    def file(self, stem: str) -> str:
        name = stem.title().replace("_", "") if self.capitals else stem
        return f"{name}.{self.suffix}"

    @property
    def place(self) -> Workspace:
        build = _BUILDS / self.name
        build.mkdir(parents=True, exist_ok=True)
        return Workspace(SOURCES / self.name, build)


_WEBHOOKS = "standardwebhooks@1.1.1"
_TYPESCRIPT = ["typescript", "tsx", "@types/node", _WEBHOOKS]
_JAVA = ["default-jdk-headless", "libjackson2-databind-java"]
_DOTNET = "dotnet-sdk-8.0"  # of Microsoft's or Ubuntu's packages
_CRATES_USED = "reqwest serde serde-derive serde-json hmac sha2 data-encoding tiny-http uuid"
_RUST = ["cargo", *(f"librust-{crate}-dev" for crate in _CRATES_USED.split())]
LANGUAGES = (
    Language("curl", "sh", curl, partial(apt_get, packages=["curl", "jq", "openssl"])),
    Language("csharp", "cs", csharp, partial(apt_get, packages=[_DOTNET]), capitals=True),
    Language("go", "go", go, partial(apt_get, packages=["golang-go"])),
    Language("java", "java", java, partial(apt_get, packages=_JAVA), capitals=True),
    Language("javascript", "mjs", javascript, partial(npm, packages=[_WEBHOOKS])),
    Language("php", "php", php, partial(apt_get, packages=["php-cli", "php-curl"])),
    Language("python", "py", python, partial(apt_get, packages=[])),
    Language("rust", "rs", rust, partial(apt_get, packages=_RUST)),
    Language("typescript", "ts", typescript, partial(npm, packages=_TYPESCRIPT)),
)
