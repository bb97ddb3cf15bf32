"""Every way to pay: each folder here with a `declared.py`."""

from billing import gateways
from billing.gateways.declaration import DeclaredGateway
from catalogue.options import discover

_MODULES = discover(gateways, "declared").values()
_DECLARED: list[DeclaredGateway] = [module.GATEWAY for module in _MODULES]
GATEWAYS = {row.name: row for row in sorted(_DECLARED, key=lambda row: row.position)}
