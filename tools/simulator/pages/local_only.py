"""Restricts the pages and their API, which show codes, to this machine's browser."""

from urllib.parse import urlsplit

from aiohttp import web

from tools.simulator.settings import Settings
from tools.simulator.vendor import Handler


class LocalOnly:
    def __init__(self, settings: Settings) -> None:
        """A foreign name of ours is a rebinding attack."""
        own = urlsplit(settings.own_url).hostname
        self._host_names = {"127.0.0.1", "localhost", "::1", own}

    def __call__(self, handler: Handler) -> Handler:
        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self._is_own(request):
                return web.json_response({"error": "this host or origin is not ours"}, status=403)
            return await handler(request)

        return guarded

    def _is_own(self, request: web.Request) -> bool:
        """No foreign name (rebinding) and no foreign page (cross-site posts)."""
        origin = request.headers.get("Origin")
        if urlsplit(f"//{request.host}").hostname not in self._host_names:
            return False
        return origin is None or urlsplit(origin).netloc == request.host
