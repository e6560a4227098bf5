"""Where may a call go? The one rule for every server that is configured: to its base URL, and to no private address
that is not listed. A name is resolved once, and the connection goes to the address that was checked."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from iamata.errors import InvalidValue


def check_base_url(url: str, what: str, private: Collection[str], *, this_machine: bool = False) -> None:
    """Raises InvalidValue, which begins with `what`, unless the URL is https (or http to where `may_be_private` allows
    it) with scheme, host and path and nothing else."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise InvalidValue(f"{what} is no URL") from None
    if not host or parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidValue(f"{what} is scheme, host and path, without credentials and query")
    if parts.scheme != "https" and not (
        parts.scheme == "http" and may_be_private(host, private, this_machine=this_machine)
    ):
        here = "this machine or " if this_machine else ""
        raise InvalidValue(f"{what} is https (http only to {here}a host listed as private)")


def may_be_private(host: str, private: Iterable[str], address: str = "", *, this_machine: bool = False) -> bool:
    """Is this host, or the network of its address, listed in `private` (host names, networks as CIDR)? With
    `this_machine`, loopback counts as listed where the host says so itself: as `localhost` or as an address."""
    listed = tuple(private)
    if host.lower() in (each.lower() for each in listed):
        return True
    own = host.lower() == "localhost" or _is_loopback(host)
    if this_machine and own and (not address or _is_loopback(address)):
        return True
    networks = [network for network in map(_network, listed) if network is not None]
    addresses = [known for known in map(_address, (address, host)) if known is not None]
    return any(known in network for known in addresses for network in networks)


def may_connect(host: str, private: Iterable[str], address: str, *, this_machine: bool = False) -> bool:
    """May a connection for this host go to this address? An IPv4 address within an IPv6 one is judged as itself."""
    known = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(known, "ipv4_mapped", None) or known
    return bool(mapped.is_global) or may_be_private(host, private, str(mapped), this_machine=this_machine)


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host; empty if it has none."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError:
        return []


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_loopback(text: str) -> bool:
    known = _address(text)
    return known is not None and known.is_loopback


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None
