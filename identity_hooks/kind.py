"""Declares a kind of identity server: a module of `identity_hooks.kinds` with `KIND`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError
from catalogue.texts import StrOrPromise
from channels.accept.outcome import SendOutcome
from identity_hooks.hook_call import HookCall, SimulatedCall, WantedMessage
from identity_hooks.responses import refused_json, sent_json
from identity_hooks.signatures import BEARER, Check, SecretForm


class HookOptions(NamedTuple):
    """Settings of a hook that parsing its calls depends on."""

    code_length: int = 6  # digits of a code inside a sentence
    mapping: Mapping[str, Any] = {}  # for the generic kind


class Trial(NamedTuple):
    """Values for a simulated call; `at` in Unix seconds."""

    secret: str
    phone: str
    code: str
    at: float
    options: HookOptions = HookOptions()


CLOUD = _("Cloud")
SELF_HOSTED = _("Self-hosted")
EVERYWHERE = _("Cloud and self-hosted")


class Setting(NamedTuple):
    """A snippet of the page *Connect*, with `{url}` and `{secret}` to be filled into `text`.

    `place` names the page or file of the server in which it is entered.
    """

    edition: StrOrPromise
    text: str
    language: str = "text"
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of server; `patience` is the seconds that it waits for us, all its tries together."""

    name: str  # in the path
    title: StrOrPromise
    source: str  # the server's code or page that the module follows
    check: Check
    read: Callable[[HookCall, HookOptions], WantedMessage]
    simulate: Callable[[Trial], SimulatedCall]
    settings: tuple[Setting, ...]
    notes: tuple[StrOrPromise, ...] = ()
    respond_sent: Callable[[SendOutcome | None], HttpResponse] = sent_json
    respond_refused: Callable[[DomainError], HttpResponse] = refused_json
    methods: frozenset[str] = frozenset({"POST"})
    patience: int | None = None
    secrets: SecretForm = BEARER
    # The check needs no body, so it runs before the body is read.
    is_checked_by_headers: bool = True
    finds_code_in_text: bool = False
    # In the generic kind, the mapping chooses the check.
    check_by_mapping: Callable[[Mapping[str, Any]], Check] | None = None
    secrets_by_mapping: Callable[[Mapping[str, Any]], SecretForm] | None = None

    @property
    def has_mapping(self) -> bool:
        return self.check_by_mapping is not None

    def is_authentic(self, call: HookCall, secret: str, options: HookOptions) -> bool:
        by_mapping = self.check_by_mapping
        return (by_mapping(options.mapping) if by_mapping else self.check)(call, secret)

    def secret_form(self, mapping: Mapping[str, Any]) -> SecretForm:
        return self.secrets_by_mapping(mapping) if self.secrets_by_mapping else self.secrets
