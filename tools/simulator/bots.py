"""A person's actions in the chats with the service's bots: the same in every messenger."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tools.simulator.carrier import Carrier
from tools.simulator.messages import Phone
from tools.simulator.vendor import HttpVendor, MakePost, RefusedError

ACTIONS = ("share", "unshare", "block", "unblock", "start", "stop")
BLOCKING = {"block", "unblock", "share", "start"}  # what changes whether the bot is blocked


@dataclass(frozen=True, slots=True)
class ContactChange:
    """An action of a person, and its effect on the contact."""

    action: str
    changes_block: bool
    shares: bool  # the person's own card


class Bot(HttpVendor):
    nobody: ClassVar[RefusedError]  # there is no such chat
    blocked: ClassVar[RefusedError]
    unstarted: ClassVar[RefusedError]  # the person has not written to the bot

    def reachable(self, chat: int) -> str:
        """The digits of the phone whose chat this is."""
        if not 10**6 <= chat < 10**15:
            raise self.nobody
        phone = self.carrier.log.phones.get(str(chat))
        if phone.blocked:
            raise self.blocked
        if phone.shared == "unshared":
            raise self.unstarted
        return phone.digits

    @abstractmethod
    def updates(self, phone: Phone, change: ContactChange) -> list[MakePost]:
        """The messenger's webhook calls to the bot about a change."""


def change_contact(carrier: Carrier, digits: str, action: str) -> Phone:
    phone = carrier.log.phones.touch(digits)
    changes_block = (action == "block") != phone.blocked and action in BLOCKING
    if changes_block:
        phone.blocked = action == "block"
    if action in {"share", "unshare"}:
        phone.shared = "shared" if action == "share" else "unshared"
    # Who has nothing to stop is known by nothing.
    shares = action == "share" or (action == "stop" and phone.shared == "default")
    carrier.log.keep_contact(phone)
    for vendor in carrier.vendors.values():
        if isinstance(vendor, Bot):
            calls = vendor.updates(phone, ContactChange(action, changes_block, shares))
            carrier.courier.run(calls, vendor.name, digits)
    return phone
