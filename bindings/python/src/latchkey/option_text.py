"""Options as text, as the library reads them."""

from __future__ import annotations

from typing import Any


def text_of(name: str, value: Any) -> str:
    """The text of an option's value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{name} must be str, int, float or bool, not {type(value).__name__}")
