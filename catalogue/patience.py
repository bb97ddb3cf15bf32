"""The time that a channel has to prove a delivery before the next one is tried."""

from typing import NamedTuple


class Patience(NamedTuple):
    """Seconds to wait for a proof before the next channel, by the kind of message."""

    code: int = 30
    link: int = 120


USUAL_PATIENCE = Patience()
