"""What Database.compact tells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CompactProgress:
    """How far a compaction has come."""

    leaves: int
    """Of trees, looked at so far."""
    freed: int
    """Of these, united with another."""
    file_bytes: int
    """Of the data file, now."""


@dataclass(frozen=True)
class CompactInfo:
    """What a compaction has done."""

    bytes_before: int
    """Of the data file."""
    bytes_after: int
    leaves: int
    """Of trees, looked at."""
    freed: int
    """Of these, united with another."""
