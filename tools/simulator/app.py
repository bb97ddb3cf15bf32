"""The simulator put together: the vendors, the API and the pages on one aiohttp application.

The message centre beside it speaks SMPP on a port of its own.
"""

import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from aiohttp import web

from tools.simulator.api import Api
from tools.simulator.carrier import Carrier
from tools.simulator.messages.message_log import MessageLog
from tools.simulator.pages.control_page import ControlPage
from tools.simulator.pages.local_only import LocalOnly
from tools.simulator.pages.phones_page import PhonesPage
from tools.simulator.payments.actions import Till
from tools.simulator.payments.api import PaymentApi
from tools.simulator.payments.book import PaymentBook
from tools.simulator.payments.notices import NoticeSender
from tools.simulator.payments.pages import PaymentPages
from tools.simulator.payments.provider import PaymentProvider
from tools.simulator.payments.stripe import Stripe
from tools.simulator.payments.tbank import TBank
from tools.simulator.payments.yookassa import YooKassa
from tools.simulator.settings import Settings
from tools.simulator.smpp.server import Smpp
from tools.simulator.smsc import Smsc
from tools.simulator.telegram.bot import TelegramBot
from tools.simulator.telegram.gateway import TelegramGateway
from tools.simulator.twilio.messages import Twilio
from tools.simulator.vendor import HttpVendor
from tools.simulator.whatsapp.cloud_api import WhatsApp
from tools.simulator.wire_log import Handler, WireLog


def build_app(
    settings: Settings, log: MessageLog, smpp_listener: socket.socket | None = None
) -> web.Application:
    carrier = Carrier(settings, log)
    bot = TelegramBot(carrier)
    vendors: list[HttpVendor] = [
        WhatsApp(carrier),
        TelegramGateway(carrier),
        bot,
        Twilio(carrier),
        Smsc(carrier),
    ]
    centre = Smpp(carrier)
    carrier.vendors.update({vendor.name: vendor for vendor in (*vendors, centre)})
    guard = LocalOnly(settings.host_names)

    app = web.Application()
    for vendor in vendors:
        app.add_routes(_recorded(route, vendor, carrier.wire) for route in vendor.routes())
    app.add_routes(Api(carrier, bot).routes(guard))
    app.add_routes(PhonesPage(carrier).routes(guard))
    app.add_routes(ControlPage(carrier).routes(guard))
    _add_payments(app, settings, carrier.wire, guard)
    app.on_shutdown.append(carrier.events.close)
    app.cleanup_ctx.append(carrier.courier.running)
    if smpp_listener is not None:
        app.cleanup_ctx.append(partial(centre.running, smpp_listener))
    return app


def _add_payments(
    app: web.Application, settings: Settings, wire: WireLog, guard: LocalOnly
) -> None:
    """The payment providers share nothing with the carriers but the log of the wire."""
    book = PaymentBook(settings.log_path.with_suffix(".payments.sqlite3"))
    providers: dict[str, PaymentProvider] = {
        kind.name: kind(
            settings.payments, book, own_url=settings.own_url, service_url=settings.public_url
        )
        for kind in (Stripe, YooKassa, TBank)
    }
    sender = NoticeSender(wire)
    till = Till(book, providers, sender)
    for provider in providers.values():
        app.add_routes(_recorded(route, provider, wire) for route in provider.routes())
    app.add_routes(PaymentApi(till).routes(guard))
    app.add_routes(PaymentPages(till).routes(guard))
    app.cleanup_ctx.append(sender.running)
    app.on_cleanup.append(_closing(book))


def _closing(book: PaymentBook) -> Callable[[web.Application], Awaitable[None]]:
    async def close(_app: web.Application) -> None:
        book.close()

    return close


def _recorded(
    route: web.RouteDef, vendor: HttpVendor | PaymentProvider, wire: WireLog
) -> web.RouteDef:
    handler = wire.recorded(vendor.name, cast(Handler, route.handler))
    return web.RouteDef(route.method, route.path, handler, route.kwargs)
