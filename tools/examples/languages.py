"""The languages of docs/examples: how their files are named, what they need, how to get it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from config.environment.variables import ROOT
from tools.examples import dotnet, toolchains
from tools.examples.toolchains import SOURCES, Toolchain, Workspace, apt_get, npm

_BUILDS = ROOT / "var/examples"


@dataclass(frozen=True)
class Language:
    name: str  # of its folder
    suffix: str
    prepare: Callable[[Workspace], Toolchain]
    install: Callable[[Workspace], None]
    capitals: bool = False  # SendCode, not send_code

    def file(self, stem: str) -> str:
        words = stem.title().replace("_", "") if self.capitals else stem
        return f"{words}.{self.suffix}"

    @property
    def place(self) -> Workspace:
        build = _BUILDS / self.name
        build.mkdir(parents=True, exist_ok=True)
        return Workspace(SOURCES / self.name, build)


def _debian(*packages: str) -> Callable[[Workspace], None]:
    return lambda _place: apt_get(packages)


_RUST = ("reqwest", "serde", "serde-derive", "serde-json", "hmac", "sha2", "data-encoding",
         "tiny-http", "uuid")  # fmt: skip

_WEBHOOKS = "standardwebhooks@1.1.1"

LANGUAGES = (
    Language("curl", "sh", toolchains.curl, _debian("curl", "jq", "openssl")),
    Language("csharp", "cs", dotnet.csharp, dotnet.install, capitals=True),
    Language("go", "go", toolchains.go, _debian("golang-go")),
    Language(
        "java",
        "java",
        toolchains.java,
        _debian("default-jdk-headless", "libjackson2-databind-java"),
        capitals=True,
    ),
    Language(
        "javascript",
        "mjs",
        toolchains.javascript,
        partial(npm, packages=[_WEBHOOKS]),
    ),
    Language("php", "php", toolchains.php, _debian("php-cli", "php-curl")),
    Language("python", "py", toolchains.python, _debian()),
    Language(
        "rust", "rs", toolchains.rust, _debian("cargo", *(f"librust-{one}-dev" for one in _RUST))
    ),
    Language(
        "typescript",
        "ts",
        toolchains.typescript,
        partial(npm, packages=["typescript", "tsx", "@types/node", _WEBHOOKS]),
    ),
)
