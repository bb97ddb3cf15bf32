"""The person who asked a company for a code: address and device as irreversible hashes."""

from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

LENGTH = 24  # hexadecimal digits of a hash
NOT_AN_ADDRESS = _("Not an IP address")


@dataclass(frozen=True, slots=True)
class Requester:
    """The address and the device as keyed hashes that differ between companies, or empty."""

    ip: str = ""
    device: str = ""
    is_trusted: bool = False
    challenge: str = ""  # a solution as encoded by ALTCHA's widget

    @property
    def stored(self) -> dict[str, str]:
        """The values that the message stores, and loses together with the phone."""
        return {name: text for name, text in (("ip", self.ip), ("device", self.device)) if text}


UNKNOWN = Requester()


def network_of(ip: str) -> str | None:
    """The network that evidence counts: an IPv4 address, or the /64 that one IPv6 subscriber has.

    Empty for an address that many people share, such as a proxy's own; None for anything else.
    """
    try:
        address = ip_address(ip.strip())
    except ValueError:
        return None
    address = getattr(address, "ipv4_mapped", None) or address
    if not address.is_global:
        return ""
    if address.version == 6:
        return str(ip_network((address, 64), strict=False))
    return str(address)


def hashed(company_id: int, kind: str, text: str) -> str:
    if not text:
        return ""
    salt = f"otp.protection.{kind}.{company_id}"
    return salted_hmac(salt, text, algorithm="sha256").hexdigest()[:LENGTH]


def requester_of(
    company_id: int,
    *,
    ip: str | None,
    device: str | None = None,
    is_trusted: bool = False,
    challenge: str = "",
) -> Requester:
    """The requester of a code; raises ValueError for an address that cannot be read."""
    network = network_of(ip) if ip else ""
    if network is None:
        raise ValueError(NOT_AN_ADDRESS)
    return Requester(
        ip=hashed(company_id, "ip", network),
        device=hashed(company_id, "device", device or ""),
        is_trusted=is_trusted,
        challenge=challenge,
    )
