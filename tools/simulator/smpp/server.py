"""A message centre that speaks SMPP 3.4, as https://smpp.org/SMPP_v3_4_Issue1_2.pdf words it."""

import asyncio
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator
from functools import partial

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.faults import LOST, SERVER_ERROR, SILENCES, FaultPlan
from tools.simulator.messages import message_content
from tools.simulator.messages.message import Message
from tools.simulator.smpp import pdu
from tools.simulator.smpp import text as smpp_text
from tools.simulator.smpp.pdu import Bind, Query, Submit
from tools.simulator.smpp.session import OK, THROTTLED, Session
from tools.simulator.smpp.text import Parts, UnreadableError
from tools.simulator.vendor import Tell, Vendor

INVALID_SOURCE, INVALID_DEST, INVALID_PASSWORD, INVALID_SYSTEM_ID = 0x0A, 0x0B, 0x0E, 0x0F
SYSTEM_ERROR, QUERY_FAILED = 0x08, 0x67
SUBMIT_FAILED, INVALID_DEST_TON, INVALID_DEST_NPI, INVALID_EXPIRY = 0x45, 0x50, 0x51, 0x62
REFUSALS = {
    "unreachable": INVALID_DEST,
    "refuse": SUBMIT_FAILED,
    "throttle": THROTTLED,
    SERVER_ERROR: SYSTEM_ERROR,  # and here it says that nothing was taken
}
STATES = {"delivered": (2, "DELIVRD"), "failed": (5, "UNDELIV")}  # no receipt tells of "sent"
EN_ROUTE, OVER = 1, {"delivered": 2, "read": 2, "failed": 5}  # message_state
REMEMBERED = 10_000  # parts of long messages
PHONE = re.compile(r"[1-9][0-9]{6,14}")
SOURCE = re.compile(r"[ -~]{1,20}")
EXPIRY = re.compile(r"([0-9]{15}R)?|[0-9]{15}[+-]")
INTERNATIONAL = ISDN = 1


class Smpp(Vendor):
    name = "smpp"
    channel = "sms"
    can_reply = True

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._settings = carrier.settings
        self._parts = Parts()
        self._first_of: dict[str, str] = {}
        self._sessions: dict[Session, asyncio.Task[None]] = {}
        self.window = carrier.settings.smpp_window

    async def running(self, listener: socket.socket, _app: web.Application) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._come, sock=listener)
        yield
        server.close()
        for session, task in list(self._sessions.items()):
            session.close()
            task.cancel()

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self, reader, writer)
        task = asyncio.current_task()
        if task is not None:
            self._sessions[session] = task
        try:
            await session.run()
        except asyncio.CancelledError:
            pass
        finally:
            self._sessions.pop(session, None)

    def admit(self, bind: Bind) -> int:
        known, password = self._settings.smpp_system_id, self._settings.smpp_password
        if not known or bind.system_id != known:
            return INVALID_SYSTEM_ID
        return OK if bind.password == password else INVALID_PASSWORD

    async def take(self, session: Session, submit: Submit) -> tuple[int, str] | None:
        """Faults decide, as with other vendors, but for each part of a long message separately."""
        try:
            _check(submit)
            piece = smpp_text.read(submit)
        except UnreadableError as unreadable:
            return unreadable.status, ""
        plan = self._carrier.plan(self, submit.dest)
        if plan.answer in REFUSALS:
            await asyncio.sleep(plan.latency)
            return REFUSALS[plan.answer], ""
        if plan.answer == LOST:
            session.close(abort=True)
            return None
        message_id = secrets.token_hex(5)
        whole = self._parts.add(submit, piece, message_id)
        message = self._message(submit, *whole) if whole else None
        if message is not None:
            self._remember(message)
        if message is not None:
            self._carrier.keep(self, message, plan)
        return await self._reply(session, plan, message, message_id)

    async def _reply(
        self, session: Session, plan: FaultPlan, message: Message | None, message_id: str
    ) -> tuple[int, str] | None:
        if plan.answer not in SILENCES:
            await asyncio.sleep(plan.latency)
        if message is not None:
            self._carrier.courier.start(message, self._carrier.delay(plan))
        if plan.answer not in SILENCES:
            return OK, message_id
        if plan.answer == "reset":
            await asyncio.sleep(plan.latency)
            session.close(abort=True)
        return None

    def _remember(self, message: Message) -> None:
        """Under which id a long message was logged, for who asks by that of another part."""
        first, *others = message.extra["ids"]
        self._first_of.update(dict.fromkeys(others, first))
        while len(self._first_of) > REMEMBERED:
            del self._first_of[next(iter(self._first_of))]

    def _message(self, submit: Submit, text: str, ids: list[str]) -> Message:
        read = message_content.read(text)
        return Message(
            channel=self.channel,
            provider=self.name,
            provider_id=ids[0],
            phone=submit.dest,
            text=text,
            code=read.code,
            links=read.links,
            extra={"ids": ids, "source": submit.source, "registered": submit.registered & 3},
        )

    def look_up(self, query: Query) -> tuple[int, bytes]:
        """The id of any part is good; nobody but the sender may ask."""
        message = self._carrier.log.by_provider_id(
            self.name, self._first_of.get(query.message_id, query.message_id)
        )
        if message is None or message.extra["source"] != query.source:
            return QUERY_FAILED, b""
        is_over = message.state in OVER
        done = time.strftime("%y%m%d%H%M%S000+", time.gmtime()) if is_over else ""
        state = OVER[message.state] if is_over else EN_ROUTE
        return OK, pdu.cstring(query.message_id) + pdu.cstring(done) + bytes([state, 0])

    def receipt(self, message: Message, event: str, moment: float) -> Tell | None:
        if event not in STATES or not message.extra["registered"]:
            return None
        return partial(self._tell, message, event, moment)

    def reply(self, message: Message, text: str) -> Tell:
        return partial(self._bring, pdu.incoming(message.phone, message.extra["source"], text))

    async def _bring(self, body: bytes) -> bool:
        session = next((one for one in self._sessions if one.can_receive), None)
        return session is not None and await session.deliver(body)

    async def _tell(self, message: Message, event: str, moment: float) -> bool:
        """A receipt for each part, to any bound client, or later if there is none."""
        session = next((one for one in self._sessions if one.can_receive), None)
        if session is None:
            return False
        for message_id in message.extra["ids"]:
            if not await session.deliver(_receipt(message, message_id, event, moment)):
                return False
        return True


def _check(submit: Submit) -> None:
    """Raises UnreadableError."""
    rules = (
        (SOURCE.fullmatch(submit.source), INVALID_SOURCE),
        (submit.dest_ton == INTERNATIONAL, INVALID_DEST_TON),
        (submit.dest_npi == ISDN, INVALID_DEST_NPI),
        (PHONE.fullmatch(submit.dest), INVALID_DEST),
        (EXPIRY.fullmatch(submit.validity), INVALID_EXPIRY),
    )
    for is_kept, status in rules:
        if not is_kept:
            raise UnreadableError(status)


def _receipt(message: Message, message_id: str, event: str, moment: float) -> bytes:
    state, word = STATES[event]
    submitted = time.strftime("%y%m%d%H%M", time.gmtime(message.at))
    done = time.strftime("%y%m%d%H%M", time.gmtime(moment))
    delivered, error = ("001", "000") if event == "delivered" else ("000", "027")
    line = (
        f"id:{message_id} sub:001 dlvrd:{delivered} submit date:{submitted} done date:{done}"
        f" stat:{word} err:{error} text:"
    )
    tlvs = pdu.tlv(pdu.RECEIPTED_MESSAGE_ID, pdu.cstring(message_id))
    tlvs += pdu.tlv(pdu.MESSAGE_STATE, bytes([state]))
    return pdu.receipt(message.phone, message.extra["source"], line, tlvs)
