"""The load: messages sent, delivered with receipts, charged, and their codes checked."""

import selectors
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from itertools import islice

from otp import codes
from tools.bench.api_calls import as_json
from tools.bench.load import Connection, post, whole
from tools.stack.programs import CannotMeasureError
from tools.stack.seed import Account, Phones
from tools.stack.stack import Stack, until

SEND, VERIFY = "/api/v1/otp/send", "/api/v1/otp/verify"
_OPEN = "SELECT count(*) FROM channels_openmessage"
_CODES = """
SELECT phone, company_id, id, key_id, length FROM otp_verification
WHERE phone BETWEEN %s AND %s ORDER BY phone"""
_UNSETTLED = """
SELECT count(*) FROM otp_verification
WHERE phone BETWEEN %s AND %s AND (verified_at IS NULL OR settled_at IS NULL)"""
_CHARGED = """
SELECT count(*) FROM channels_message m JOIN billing_transfer t
  ON t.message_id = m.id AND t.kind = 'capture' WHERE m.phone BETWEEN %s AND %s"""


class MessageLoad:
    def __init__(self, stack: Stack, accounts: Sequence[Account], phones: Phones) -> None:
        self._stack, self._accounts, self._phones = stack, accounts, phones
        self.polls = 0  # transactions of our own
        self._by_company = {one.company_id: one for one in accounts}

    def run(self, many: int, connections: int) -> list[float]:
        """The seconds until each send was answered. All is charged and settled at the end."""
        phones = self._phones.take(many)
        answered = drive(self._stack.web, self.sends(phones), connections)
        ends = [phones[0], phones[-1]]
        self._until_none(_OPEN, [], "the delivery of all messages")
        drive(self._stack.web, self._verifies(ends), connections)
        self._until_none(_UNSETTLED, ends, "the settlement of all codes")
        charged = self._count(_CHARGED, ends)
        if charged != many:
            raise CannotMeasureError(f"{charged} of {many} messages were charged")
        return answered

    def sends(self, phones: Sequence[str]) -> list[bytes]:
        accounts = self._accounts
        return [
            self._call(SEND, accounts[number % len(accounts)], phone=phone, channel="whatsapp")
            for number, phone in enumerate(phones)
        ]

    def _verifies(self, ends: Sequence[str]) -> list[bytes]:
        rows = self._stack.store.execute(_CODES, ends)
        return [
            self._call(
                VERIFY,
                self._by_company[company],
                phone=phone,
                code=codes.derive(number, key_id=key_id, length=length),
            )
            for phone, company, number, key_id, length in rows
        ]

    def _call(self, path: str, account: Account, **fields: str) -> bytes:
        return whole(post(path, self._stack.web, account.key), as_json(**fields))

    def _until_none(self, query: str, ends: Sequence[str], what: str) -> None:
        until(lambda: not self._count(query, ends), seconds=60, what=what, every=0.05)

    def _count(self, query: str, ends: Sequence[str]) -> int:
        self.polls += 1
        row = self._stack.store.execute(query, ends).fetchone()
        return int(row[0]) if row else 0


def drive(port: int, requests: Iterable[bytes], connections: int) -> list[float]:
    """Sends each request once; each connection its next one as soon as it has its answer."""
    left, taken = iter(requests), []
    with selectors.DefaultSelector() as selector, ExitStack() as opened:
        for request in islice(left, connections):
            connection = opened.enter_context(closing(Connection(port)))
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(request)
        while selector.get_map():
            for key, _events in selector.select(timeout=20):
                seconds = _answer(key.data)
                if seconds is None:
                    continue
                taken.append(seconds)
                following = next(left, None)
                if following is None:
                    selector.unregister(key.data.socket)
                else:
                    key.data.send(following)
    return taken


def _answer(connection: Connection) -> float | None:
    """Seconds until it came, once it is whole."""
    answer = connection.hear()
    if answer is None:
        return None
    if answer.status != 200:
        raise CannotMeasureError(f"answered {answer.status}: {answer.body.decode()[:200]}")
    return connection.seconds()
