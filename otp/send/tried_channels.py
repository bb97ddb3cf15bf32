"""Decides whether to send a live code by a channel that has not carried it yet.

The cool-down does not apply to the first send by a channel: people press "send it by SMS instead"
at once. The verification is locked until the send commits, so only one of several concurrent
requests finds the channel untried.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import orjson
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from channels import sql as channels_sql
from otp import codes, sql
from otp.send.code_request import CodeSendRequest
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column, fetch_value

if TYPE_CHECKING:  # `custom_code` imports this module
    from otp.send.custom_code import CustomCodeSend

_SQL = sql_files.read_several("otp/send/tried_channels.sql")


class TriedError(DomainError):
    """The next channel was tried in the meantime."""

    def __init__(self) -> None:
        super().__init__(Error.RESEND_TOO_SOON, retry_after=1)


TOO_LATE = _("Too little time is left to enter this code: send a new one")


@dataclass(slots=True)
class UntriedChannels:
    """The `send_limits.UntriedChannel` of a send of codes.

    `only_verification_id` names the only verification to send again: nothing is then sent by a
    channel that has carried it, whether or not the cool-down has ended.
    """

    principal: Principal
    request: CodeSendRequest
    custom: "CustomCodeSend | None"
    names: Set[str]  # channels that the send may use
    only_verification_id: UUID | None = None
    live: UUID | None = None  # the live verification, as read first
    locked: UUID | None = None  # the live verification, locked

    @property
    def is_required(self) -> bool:
        return self.only_verification_id is not None

    @property
    def key(self) -> str:
        return ":".join(
            [(self.only_verification_id or self.live or UUID(int=0)).hex, *sorted(self.names)]
        )

    def is_untried(self) -> bool:
        self.live = self._live(_SQL["live_verification"])
        return self.live is not None and self._are_untried(self.live)

    def lock_untried(self) -> bool:
        """Whether a channel is untried, under the locks of the verification and its messages.

        They are taken in this order; a message may be falling back to one of these channels.
        """
        if self.custom is not None:
            self.custom.lock()
        self.locked = self._live(_SQL["lock_live_verification"])
        if self.locked is not None:
            lock = channels_sql.in_changeable_months(channels_sql.MESSAGES["lock_by_subjects"])
            execute(lock, [[self.locked]])
        if self.only_verification_id is not None and self.locked != self.only_verification_id:
            raise DomainError(Error.CODE_EXPIRED, message=TOO_LATE)
        if self.locked is not None and self._are_untried(self.locked):
            return True
        if self.is_required:
            raise TriedError
        return False

    def check_sent(self, verification_id: UUID) -> None:
        """Refuses a send that made a new code, because the live code could not be sent again."""
        if self.locked is not None and verification_id != self.locked:
            raise DomainError(Error.CODE_EXPIRED, message=TOO_LATE)

    def _live(self, statement: str) -> UUID | None:
        request = self.request
        binding = self.request.binding
        params = codes.code_identity(self.principal, request.phone, request.purpose) | {
            "requested_length": request.code_length,
            "resend_margin": settings.RESEND_MARGIN,
            "binding": orjson.dumps(binding).decode() if binding else None,
            "custom_macs": self.custom.macs_array if self.custom else None,
        }
        verification_id: UUID | None = fetch_value(sql.in_live_months(statement), params)
        return verification_id

    def _are_untried(self, verification_id: UUID) -> bool:
        return not self.names & channels_of(verification_id)


def channels_of(verification_id: UUID) -> set[str]:
    """The channels that have carried a code, or are about to."""
    return {
        *filter(None, fetch_column(sql.in_live_months(_SQL["tried_channels"]), [verification_id]))
    }
