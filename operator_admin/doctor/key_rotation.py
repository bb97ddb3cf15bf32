"""The rotation step of each key ring: `storage.key_rings` defines the steps."""

from collections import Counter
from collections.abc import Callable, Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.sign_in import mfa
from catalogue.texts import StrOrPromise
from channels.vendor_accounts import stored_credentials
from identity_hooks import hooks
from operator_admin import figures
from operator_admin.doctor.finding import Finding, failed, passed
from otp.history import live_codes_by_key
from persons.erasure_list import erasures_by_key
from storage.key_rings import identities
from webhooks import signing

Ring = tuple[str, ...]  # the keys of a process in order, each `id:fingerprint`

THIS_PROCESS = "this process"


USES: dict[str, tuple[Callable[[], Counter[str]], StrOrPromise]] = {
    "OTP_KEYS": (live_codes_by_key, gettext_lazy("live codes")),
    "WEBHOOK_KEYS": (
        lambda: signing.secrets_by_key() + erasures_by_key(),
        gettext_lazy("secrets of endpoints and erasures"),
    ),
    "MFA_KEYS": (
        lambda: mfa.secrets_by_key() + stored_credentials.secrets_by_key() + hooks.secrets_by_key(),
        gettext_lazy("second factors, credentials of vendors and secrets of identity servers"),
    ),
}
UNVERIFIED_REMEDY = gettext_lazy(
    "List the same keys in every process, each id with the same secret, first the one "
    "that signed before, and restart them. A new key goes last until every process has "
    "it: see docs/operations/keys.md."
)
RESTART_REMEDY = gettext_lazy(
    "Give every process the same list and restart those that have another one. Take "
    "the next step of the rotation only then."
)


def key_rings() -> list[Finding]:
    return [_check_ring(name, rings_of(name)) for name in USES]


def rings_of(name: str) -> dict[str, Ring]:
    """The ring of each running process, and of this one: others get it when they restart."""
    running = {
        heartbeat.process: tuple(heartbeat.keys[name])
        for heartbeat in figures.heartbeats()
        if heartbeat.is_alive and heartbeat.keys.get(name)
    }
    return dict(sorted(running.items())) | {THIS_PROCESS: tuple(identities()[name])}


def unverifiable_keys(rings: dict[str, Ring]) -> dict[str, list[str]]:
    """Keys that sign in one process and are missing in others → the names of those processes."""
    signing_keys = dict.fromkeys(ring[0] for ring in rings.values())
    lacking = {
        key: [process for process, ring in rings.items() if key not in ring] for key in signing_keys
    }
    return {key: processes for key, processes in lacking.items() if processes}


def _check_ring(name: str, rings: dict[str, Ring]) -> Finding:
    for key, processes in unverifiable_keys(rings).items():
        is_named = _label(key) in map(_label, rings[processes[0]])
        detail = (
            _("{key} signs and has another secret in {names}")
            if is_named
            else _("{key} signs and is unknown to {names}")
        ).format(key=_label(key), names=_name_list(processes))
        return failed(name, detail, UNVERIFIED_REMEDY)
    if len(set(rings.values())) > 1:
        return failed(name, _difference(rings), RESTART_REMEDY)
    return _check_equal_rings(name, rings[THIS_PROCESS])


def _difference(rings: dict[str, Ring]) -> str:
    """The current step of the rotation."""
    newest = rings[THIS_PROCESS]
    differing = _name_list([process for process, ring in rings.items() if ring != newest])
    if len({ring[0] for ring in rings.values()}) > 1:
        return _("step 2 under way: {key} is not first in {differing}").format(
            key=_label(newest[0]), differing=differing
        )
    return _("step 1 or 3 under way: the keys differ in {differing}").format(differing=differing)


def _check_equal_rings(name: str, ring: Ring) -> Finding:
    count_uses, noun = USES[name]
    uses = count_uses()
    signs, *others = map(_label, ring)
    if missing := [key for key in uses if key and key not in {signs, *others}]:
        detail = _("{names} is missing, and {uses} {noun} need it").format(
            names=_name_list(missing), uses=uses[missing[0]], noun=noun
        )
        return failed(name, detail, _("Append it to the list again and restart every process."))
    return passed(
        name,
        "; ".join(
            [
                _("{key} signs").format(key=signs),
                *(_other_key_text(other, uses, noun) for other in others),
            ]
        ),
    )


def _other_key_text(key: str, uses: Counter[str], noun: StrOrPromise) -> str:
    if uses[key]:
        return _("{key} verifies, and {uses} {noun} need it: keep it").format(
            key=key, uses=uses[key], noun=noun
        )
    return _(
        "{key} verifies, and nothing needs it: if it is new put it first, if it is old drop it"
    ).format(key=key)


def _label(key: str) -> str:
    return key.rpartition(":")[0]


def _name_list(names: Iterable[str]) -> str:
    first, *others = names
    return _("{first} and {count} more").format(first=first, count=len(others)) if others else first
