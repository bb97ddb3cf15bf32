"""Reads the process environment: the one place where machines may differ."""

from pathlib import Path

from environs import FileAwareEnv

ROOT = Path(__file__).resolve().parent.parent

# `NAME_FILE=/run/secrets/name` stands for `NAME`, as container platforms hand secrets over. Read
# for the names we ask for only: every other program has its own `…_FILE`s, and large ones.
env = FileAwareEnv(strip_whitespace=True)


def keyring(text: str) -> dict[str, bytes]:
    """`id:secret,id2:secret2` as a dict in that order; the first key is the current one."""
    pairs = (item.partition(":") for item in text.split(",") if item.strip())
    return {key_id.strip(): secret.strip().encode() for key_id, _, secret in pairs}
