"""Writes var/demo.json: addresses, a login and keys; makes the companies if they are missing."""

import json
from typing import Any

from django.conf import settings

from accounts.keys.key_format import digest
from accounts.models import ApiKey, Company, Mode
from compat.dialect import dialects
from identity_hooks import hooks
from identity_hooks.kinds import kinds
from identity_hooks.mapping import DEFAULT
from tools.command_line import say
from tools.demo.demo_companies import sign_up_all

DEMO_HOOK = "demo"


def write() -> None:
    path = settings.VAR_DIR / "demo.json"
    try:
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stored = {}
    demo = stored if _has_active_keys(stored) else sign_up_all()
    demo |= {
        "base_url": f"{settings.PUBLIC_URL}/api/v1",
        "cabinet_url": f"{settings.PUBLIC_URL}/cabinet/",
        "simulator_url": settings.SIMULATOR_URL,
        "compat": {
            name: f"{settings.PUBLIC_URL}{dialect.path}" for name, dialect in dialects().items()
        },
        "sockets": _hooks(Company.objects.get(api_keys__digest=digest(demo["live_key"]))),
    }
    # Written atomically; only the owner can read it.
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(demo, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)
    say(f"Demo data: {path}")


def _hooks(company: Company) -> dict[str, dict[str, str]]:
    """One of each kind, live: its address and the secret that its server knows."""
    hooks_by_kind = {
        hook.kind: hook for hook in company.identity_hooks.active().filter(name=DEMO_HOOK)
    }
    for kind in kinds().values():
        if kind.name not in hooks_by_kind:
            values = {"name": DEMO_HOOK, "mapping": DEFAULT if kind.has_mapping else {}}
            hooks_by_kind[kind.name], _secret = hooks.create(
                company=company, user=None, kind=kind.name, mode=Mode.LIVE, values=values
            )
    return {
        name: {"url": f"{settings.PUBLIC_URL}{hook.path}", "secret": hooks.secrets_of(hook)[0]}
        for name, hook in sorted(hooks_by_kind.items())
    }


def _has_active_keys(demo: dict[str, Any]) -> bool:
    names = ("live_key", "test_key", "verify_key", "empty_key")
    digests = [digest(demo[name]) for name in names if name in demo]
    return ApiKey.objects.active().filter(digest__in=digests).count() == len(names)
