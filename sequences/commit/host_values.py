"""The highest values that the processes of one host remember for each other, in the memory that they share.

A value has a name. Each name has one place, which a few names share: the last one that was written is remembered. So a
value may be forgotten, but none is ever told for another name.
"""

import hashlib
import struct
import zlib

from .host_memory import TURNS_BYTES, VALUES_BYTES, Memory, shared_memory

# The name's digest, the value, and a checksum: another process may write while this one reads.
_PLACE = struct.Struct("<32sqI")
_PLACE_BYTES = 64
PLACES = VALUES_BYTES // _PLACE_BYTES


def remembered(name: str) -> int | None:
    """The value of a name; None if it is not remembered."""
    memory = shared_memory()
    return None if memory is None else _value_at(memory, *_place(name))


def remember(name: str, value: int) -> None:
    """Remember a value, unless a higher one of this name is. Values that do not fit into 64 bits are not remembered."""
    memory = shared_memory()
    if memory is None or not -(2**63) <= value < 2**63:
        return
    key, offset = _place(name)
    before = _value_at(memory, key, offset)
    if before is None or before < value:
        _PLACE.pack_into(memory.view, offset, key, value, _checksum(key, value))


def forget(name: str) -> None:
    """Forget the value of a name."""
    memory, (key, offset) = shared_memory(), _place(name)
    if memory is not None and _value_at(memory, key, offset) is not None:
        _PLACE.pack_into(memory.view, offset, b"", 0, 0)


def _place(name: str) -> tuple[bytes, int]:
    """The digest of a name, and where its place begins."""
    key = hashlib.sha256(name.encode()).digest()
    return key, TURNS_BYTES + int.from_bytes(key[:4]) % PLACES * _PLACE_BYTES


def _value_at(memory: Memory, key: bytes, offset: int) -> int | None:
    """The value in a place; None if it belongs to another name, or is half of a new one."""
    found, value, checksum = _PLACE.unpack_from(memory.view, offset)
    return int(value) if found == key and checksum == _checksum(key, value) else None


def _checksum(key: bytes, value: int) -> int:
    return zlib.crc32(_PLACE.pack(key, value, 0))
