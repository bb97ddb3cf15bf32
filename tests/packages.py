"""The folders of the product's packages."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(
    folder.parent.name
    for folder in ROOT.glob("*/__init__.py")
    if folder.parent.name not in {"tests", "tools"}
)
