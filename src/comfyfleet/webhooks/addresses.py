"""Which addresses a webhook may reach: public ones, and the networks that the operator allows."""

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from comfyfleet.kernel.errors import Refused

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
UNICAST = ipaddress.IPv6Network("2000::/3")  # all that has been given out to the public internet


class AddressNotPublic(Refused):
    """A webhook URL names an address that nothing is ever delivered to."""

    code = "address_not_public"
    text = (
        "{host} is not a public address, so nothing can be delivered there. Give one that is, or ask whoever runs this "
        "installation to allow its network in COMFYFLEET_WEBHOOK_NETWORKS."
    )

    def __init__(self, host: str) -> None:
        super().__init__(host=host)


def require_reachable(url: str, *, allowed: Sequence[Network]) -> None:
    """Of an address only. Where a name leads is checked whenever a connection is made: elsewhere, by then, maybe."""
    host = urlsplit(url).hostname or ""
    address = _written_out(host)
    if address is not None and not is_allowed(address, allowed):
        raise AddressNotPublic(host)


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    bare = _undressed(address)
    return _is_public(bare) or any(bare in network for network in allowed)


def _written_out(host: str) -> Address | None:
    """None: a name. Whoever connects takes 127.1 and 0x7f000001 for addresses, too."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def _undressed(address: Address) -> Address:
    """An IPv4 address in other clothes leads where it leads."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in UNICAST:
        return False  # what `ipaddress` does not know to be special it calls global
    return address.is_global and not address.is_multicast
