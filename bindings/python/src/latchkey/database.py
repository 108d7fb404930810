"""open() and Database: what needs no C."""

from __future__ import annotations

import atexit
import os
import random
import time
import weakref
from typing import Any, Callable, TypeVar

from . import _latchkey
from .errors import Aborted, Error

T = TypeVar("T")

_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()


class Database(_latchkey.Database):
    """An open database, which open() returns. All threads may use it at once.

    As a context manager it is closed at the end of the block. A database that is still open at the exit of the
    interpreter is closed then.
    """

    __slots__ = ("__weakref__", "path")

    path: str

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<latchkey.Database {getattr(self, 'path', '?')!r}, {state}>"

    def run(self, function: Callable[[_latchkey.Transaction], T], *, isolation: str | None = None,
            read_only: bool = False, attempts: int | None = None) -> T:
        """Calls function(transaction) and commits; returns its result.

        Runs it again, with growing pauses, while the transaction is Aborted: so `function` must have no other
        effects. `attempts` limits how often (None: no limit); then Aborted is raised.
        """
        if attempts is not None and attempts < 1:
            raise ValueError(f"attempts={attempts}: give at least 1, or None")
        attempt = 0
        while True:
            attempt += 1
            try:
                with self.transaction(isolation=isolation, read_only=read_only) as transaction:
                    return function(transaction)
            except Aborted:
                if attempt == attempts:
                    raise
            time.sleep(random.random() * min(0.05, 0.0002 * 2 ** min(attempt, 8)))


def _text_of(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{name} must be str, int, float or bool, not {type(value).__name__}")


def open(path: str | os.PathLike[str], *, log: Callable[[int, str], object] | None = None,  # pylint: disable=redefined-builtin
         **options: str | int | float | bool) -> Database:
    """Opens the database in the directory `path`, and creates it if it is missing.

    Options have the names of the command line with underscores: cache_size="256MiB", durability="group".
    latchkey.options() lists them. log(level, message) receives messages with the levels of `logging`, from any
    thread: log=logging.getLogger("latchkey").log. It must not use the database.
    """
    text = {name: _text_of(name, value) for name, value in options.items()}
    database = Database(os.fsencode(path), text, log)
    database.path = os.fsdecode(path)
    _open_databases.add(database)
    return database


@atexit.register
def _close_all() -> None:
    for database in list(_open_databases):
        if not database.closed:
            try:
                database.close()
            except Error:
                pass  # with a log the next open recovers; nobody is left to be told
