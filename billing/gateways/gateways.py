"""Every way to pay: each folder here with a `way.py`."""

from dataclasses import replace

from billing import gateways
from billing.gateways.declaration import DeclaredGateway
from catalogue.options import discover

GATEWAYS: dict[str, DeclaredGateway] = {
    folder: replace(module.GATEWAY, name=folder)
    for folder, module in discover(gateways, "way").items()
}
