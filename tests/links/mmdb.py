"""Writes a small country database in MaxMind's format: https://maxmind.github.io/MaxMind-DB/"""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

MARKER = b"\xab\xcd\xefMaxMind.com"
SEPARATOR = bytes(16)
TEXT = 2
UINT16 = 5
UINT32 = 6
MAP = 7
UINT64 = 9
ARRAY = 11


def country(code: str) -> bytes:
    """The record of a country in the usual shape."""
    return mapping({"country": mapping({"iso_code": text(code)})})


def database(records: Mapping[str, bytes]) -> bytes:
    """IPv4 networks of the same length → their records."""
    data = b""
    places = {}
    for network, record in records.items():
        places[network] = len(data)
        data += record
    tree = _tree({IPv4Network(network): offset for network, offset in places.items()})
    nodes = b"".join(_record(node, len(tree)) for node in tree)
    return nodes + SEPARATOR + data + MARKER + _metadata(len(tree))


def _tree(places: Mapping[IPv4Network, int]) -> list[list[Any]]:
    """Nodes of two records: the number of a node, None, or ("data", place)."""
    nodes: list[list[Any]] = [[None, None]]
    for network, offset in places.items():
        bits = f"{int(network.network_address):032b}"[: network.prefixlen]
        node = 0
        for bit in map(int, bits[:-1]):
            if nodes[node][bit] is None:
                nodes[node][bit] = len(nodes)
                nodes.append([None, None])
            node = nodes[node][bit]
        nodes[node][int(bits[-1])] = ("data", offset)
    return nodes


def _record(node: list[Any], count: int) -> bytes:
    return b"".join(_number(record, count).to_bytes(3, "big") for record in node)


def _number(record: Any, count: int) -> int:
    if record is None:
        return count  # not found
    if isinstance(record, tuple):
        offset: int = record[1]
        return count + len(SEPARATOR) + offset
    return int(record)


def _metadata(count: int) -> bytes:
    return mapping(
        {
            "binary_format_major_version": _whole(UINT16, 2),
            "binary_format_minor_version": _whole(UINT16, 0),
            "build_epoch": _whole(UINT64, 1),
            "database_type": text("Country"),
            "description": mapping({}),
            "ip_version": _whole(UINT16, 4),
            "languages": _head(ARRAY, 0),
            "node_count": _whole(UINT32, count),
            "record_size": _whole(UINT16, 24),
        }
    )


def _head(kind: int, size: int) -> bytes:
    assert size < 29
    return bytes([kind << 5 | size]) if kind <= MAP else bytes([size, kind - 7])


def text(text: str) -> bytes:
    return _head(TEXT, len(text)) + text.encode()


def _whole(kind: int, number: int) -> bytes:
    octets = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return _head(kind, len(octets)) + octets


def mapping(pairs: Mapping[str, bytes]) -> bytes:
    return _head(MAP, len(pairs)) + b"".join(text(key) + value for key, value in pairs.items())
