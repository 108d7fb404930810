"""Keys whose bytewise order is the order of their parts."""

from __future__ import annotations

import builtins
import math
import struct

from .errors import InvalidArgument

_SIGN = 1 << 63


class KeyWriter:
    """Builds a key: integers and floats by value, bytes bytewise, a key of several parts by its first part, then its
    second. All keys of a tree should have parts of the same types.

        orders[KeyWriter().bytes(b"ann").uint(17).key] = b"..."
        orders.scan(prefix=KeyWriter().bytes(b"ann").key)     # all orders of one customer

    A number takes 8 bytes; bytes take 2 more than they have, and one for each zero byte.
    """

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key = b""

    def int(self, number: builtins.int) -> KeyWriter:
        """Appends a signed integer of 64 bits."""
        return self._number(number + _SIGN, f"int({number}): give -2**63 to 2**63 - 1")

    def uint(self, number: builtins.int) -> KeyWriter:
        """Appends an unsigned integer of 64 bits."""
        return self._number(number, f"uint({number}): give 0 to 2**64 - 1")

    def float(self, number: builtins.float) -> KeyWriter:
        """Appends a float. -0.0 is 0.0, and every NaN is the same value, above all others."""
        number = math.nan if math.isnan(number) else number + 0.0  # of -0.0 it is 0.0
        (bits,) = struct.unpack(">Q", struct.pack(">d", abs(number) if math.isnan(number) else number))
        return self._number(bits ^ (2 * _SIGN - 1) if bits & _SIGN else bits ^ _SIGN, "")

    def bytes(self, part: builtins.bytes) -> KeyWriter:
        """Appends bytes."""
        self.key += bytes(part).replace(b"\0", b"\0\xff") + b"\0\x01"
        return self

    def _number(self, number: builtins.int, message: str) -> KeyWriter:
        if not 0 <= number < 2 * _SIGN:
            raise InvalidArgument(message)
        self.key += struct.pack(">Q", number)
        return self


class KeyReader:
    """Reads the parts of a key of KeyWriter, in their order. InvalidArgument: the key cannot have such a part there."""

    __slots__ = ("_rest",)

    def __init__(self, key: builtins.bytes) -> None:
        self._rest = bytes(key)

    @property
    def at_end(self) -> bool:
        """Whether every part was read."""
        return not self._rest

    def int(self) -> builtins.int:
        """A signed integer."""
        return self.uint() - _SIGN

    def uint(self) -> builtins.int:
        """An unsigned integer."""
        if len(self._rest) < 8:
            raise self._refusal("number")
        (number,) = struct.unpack(">Q", self._rest[:8])
        self._rest = self._rest[8:]
        return int(number)

    def float(self) -> builtins.float:
        """A float."""
        bits = self.uint()
        bits = bits ^ _SIGN if bits & _SIGN else bits ^ (2 * _SIGN - 1)
        return float(struct.unpack(">d", struct.pack(">Q", bits))[0])

    def bytes(self) -> builtins.bytes:
        """Bytes."""
        part, start = b"", 0
        while (zero := self._rest.find(b"\0", start)) >= 0:
            part += self._rest[start:zero]
            mark, start = self._rest[zero + 1:zero + 2], zero + 2
            if mark == b"\x01":
                self._rest = self._rest[start:]
                return part
            if mark != b"\xff":
                break
            part += b"\0"
        raise self._refusal("bytes")

    def _refusal(self, part: str) -> InvalidArgument:
        return InvalidArgument(f"the key has no {part} here ({len(self._rest)} bytes are left): read the parts in the "
                               "order in which KeyWriter got them")
