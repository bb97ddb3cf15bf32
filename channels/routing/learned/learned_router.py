"""The learned router of this process: read again within ten seconds of what a worker learned."""

from dataclasses import replace

import orjson
from django.db.backends.utils import CursorWrapper

from channels.models import RouterState
from channels.routing.learned import state_codec
from channels.routing.smart.exploration import SHORTEST, Exploration
from channels.routing.smart.router import Router
from channels.routing.smart.time_histogram import TimeHistogram
from config.process_state import on_reset
from config.storage.process_cache import SnapshotCache

REFRESH_INTERVAL = 10.0  # seconds
TOKENS_A_DAY = 20  # of exploration, for each process

_VERSION = "SELECT version FROM channels_routerstate WHERE id = %s"
_STATE = "SELECT version, state FROM channels_routerstate WHERE id = %s"


Histograms = dict[tuple[str, str], TimeHistogram]
_exploration = Exploration(TOKENS_A_DAY)


class _Learned:
    """A version and its router; exploration is the process's own."""

    def __init__(self) -> None:
        self.version = -1
        self.router = Router({})

    def read(self, cursor: CursorWrapper) -> Router:
        cursor.execute(_VERSION, [RouterState.ONLY])
        row = cursor.fetchone()
        if row is None or row[0] == self.version:
            return self.router
        cursor.execute(_STATE, [RouterState.ONLY])
        version, state = cursor.fetchone()
        found = state_codec.decode(orjson.loads(state) if isinstance(state, str) else state)
        _keep_curves(self.router.proofs, found.proofs)
        _keep_curves(self.router.codes, found.codes)
        for probes in list(_exploration.probes.values()):  # requests add to it
            probes.gap = SHORTEST  # what came of them is in the new state
        self.router, self.version = found, version
        return found


def _keep_curves(known: Histograms, found: Histograms) -> None:
    """The choices that were computed from them stay in their cache."""
    for key, times in found.items():
        if key in known:
            times.keep_curve_of(known[key])


_learned = _Learned()
_cache = SnapshotCache("router", _learned.read, Router({}), interval=REFRESH_INTERVAL)
keep_fresh = _cache.keep_fresh


def router(prices: dict[str, int], *, explores: bool) -> Router:
    """With these prices; its knowledge is shared, and not to be taught."""
    exploration = _exploration if explores else Exploration(0)
    return replace(_cache.get(), prices=prices, exploration=exploration)


@on_reset
def _forget() -> None:
    """The cache forgets by itself."""
    _learned.version = -1
    _learned.router = Router({})
    _exploration.probes.clear()
    _exploration.spent = 0
