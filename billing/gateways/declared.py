"""Every way to pay: each folder here with a `declared.py`."""

from billing import gateways
from billing.gateways.declaration import DeclaredGateway
from catalogue.options import discover

_FOUND: list[DeclaredGateway] = [one.GATEWAY for one in discover(gateways, "declared").values()]
GATEWAYS = {one.name: one for one in sorted(_FOUND, key=lambda declared: declared.position)}
