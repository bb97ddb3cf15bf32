"""Sends of codes that the company makes itself."""

from channels.deliver import dispatcher
from channels.providers.base import Outgoing
from tests.api.clients import Api, ApiResponse
from tests.channels.message_stages import PHONE, claim

CODE = "4821"


def send(api: Api, code: object = CODE, **fields: object) -> ApiResponse:
    return api.post("/otp/send", {"phone": PHONE, "code": code} | fields)


def outgoing() -> Outgoing:
    (claimed,) = claim()
    return dispatcher.outgoing(claimed)
