"""The exceptions of Latchkey: one for each code of the library."""

from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """The base of all. `code` is the number of the C interface (LK_...); 0 if this version does not know it."""

    code: ClassVar[int] = 0


class Cancelled(Error):
    """The progress function of a backup, check or restore returned False."""

    code = 1


class UnknownError(Error):
    """A failure of the system that has no other code."""

    code = 2


class InvalidArgument(Error, ValueError):
    """A limit or an option. The message states the range and the remedy."""

    code = 3


class NotFound(Error, KeyError):
    """No such key, tree or database."""

    code = 5

    def __str__(self) -> str:  # KeyError's shows the repr
        return str(self.args[0]) if self.args else ""


class AlreadyExists(Error):
    """insert(): the tree holds the key. open(): error_if_exists."""

    code = 6


class PermissionDenied(Error):
    """The operating system refused the access."""

    code = 7


class ResourceExhausted(Error):
    """Disk full or out of memory. The call had no effect and may be tried again."""

    code = 8


class FailedPrecondition(Error):
    """A database, transaction or cursor that is over; a database that is open elsewhere."""

    code = 9


class Aborted(Error):
    """Conflict with another transaction, or deadlock: run the transaction again. Database.run does."""

    code = 10


class InternalError(Error):
    """A defect of the library."""

    code = 13


class Unavailable(Error):
    """The device failed."""

    code = 14


class DataLoss(Error):
    """A page failed its proof. Its bytes are never returned as data."""

    code = 15


BY_CODE = {kind.code: kind for kind in (
    Cancelled, UnknownError, InvalidArgument, NotFound, AlreadyExists, PermissionDenied, ResourceExhausted,
    FailedPrecondition, Aborted, InternalError, Unavailable, DataLoss)}
