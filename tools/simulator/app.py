"""The simulator put together: the vendors, the API and the pages on one aiohttp application.

The message centre beside it speaks SMPP on a port of its own.
"""

import socket
from functools import partial
from typing import cast

from aiohttp import web

from tools.simulator.api import Api
from tools.simulator.carrier import Carrier
from tools.simulator.message_log import MessageLog
from tools.simulator.pages.control_page import ControlPage
from tools.simulator.pages.local_only import LocalOnly
from tools.simulator.pages.phones_page import PhonesPage
from tools.simulator.payments.pages import PaymentApi, PaymentPages
from tools.simulator.payments.stripe import Stripe
from tools.simulator.payments.tbank import TBank
from tools.simulator.payments.till import PaymentBook, PaymentProvider, Till
from tools.simulator.payments.yookassa import YooKassa
from tools.simulator.settings import Settings
from tools.simulator.smpp.server import Smpp
from tools.simulator.smsc import Smsc
from tools.simulator.telegram.bot import TelegramBot
from tools.simulator.telegram.gateway import TelegramGateway
from tools.simulator.twilio import Twilio
from tools.simulator.vendor import Handler, HttpVendor
from tools.simulator.whatsapp.cloud_api import WhatsApp


def build_app(
    settings: Settings, log: MessageLog, smpp_listener: socket.socket | None = None
) -> web.Application:
    carrier = Carrier(settings, log)
    bot, centre = TelegramBot(carrier), Smpp(carrier)
    kinds = (WhatsApp, TelegramGateway, Twilio, Smsc)
    vendors: list[HttpVendor] = [bot, *(kind(carrier) for kind in kinds)]
    carrier.vendors.update({vendor.name: vendor for vendor in (*vendors, centre)})
    # The payment providers share nothing with the carriers but the log of the wire and its calls.
    book = PaymentBook(settings.log_path.with_suffix(".payments.sqlite3"))
    providers: dict[str, PaymentProvider] = {
        kind.name: kind(settings, book) for kind in (Stripe, YooKassa, TBank)
    }
    till, guard = Till(book, providers, carrier.courier), LocalOnly(settings)
    app = web.Application()
    for played in (*vendors, *providers.values()):
        for route in played.routes():
            handler = played.refusing(cast(Handler, route.handler))
            recorded = carrier.wire.recorded(played.name, handler)
            app.add_routes([web.RouteDef(route.method, route.path, recorded, route.kwargs)])
    ours = (Api(carrier, bot), PhonesPage(carrier), ControlPage(carrier))
    for each in (*ours, PaymentApi(till), PaymentPages(till)):
        app.add_routes(each.routes(guard))
    app.on_shutdown.append(carrier.events.close)
    app.cleanup_ctx.append(carrier.courier.running)
    app.on_cleanup.append(book.close)
    if smpp_listener is not None:
        app.cleanup_ctx.append(partial(centre.running, smpp_listener))
    return app
