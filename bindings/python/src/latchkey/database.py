"""open() and Database: what needs no C."""

from __future__ import annotations

import atexit
import os
import random
import time
import weakref
from typing import Callable, TypeVar

from . import _latchkey
from .backups import BackupInfo, Progress, telling
from .compaction import CompactInfo, CompactProgress
from .errors import Aborted, Error
from .option_text import text_of

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

    def backup(self, directory: str | os.PathLike[str], *, incremental: bool = False, max_bytes_per_second: int = 0,
               check: bool = True, progress: Progress | None = None) -> BackupInfo:
        """Copies a consistent state into `directory` while other threads go on reading and writing.

        A full backup needs a directory that is empty or missing, or that holds an unfinished backup of this
        database, which is continued. An incremental one writes only what has changed since the newest one there.
        An exception of `progress`, and a signal, stop the backup; the same call continues it later.
        """
        return BackupInfo(*self._backup(os.fsencode(directory), incremental, max_bytes_per_second, check,
                                        telling(progress)))

    def compact(self, *, max_bytes_per_second: int = 0,
                progress: Callable[[CompactProgress], bool | None] | None = None) -> CompactInfo:
        """Makes the data file small while other threads go on reading and writing.

        It unites leaves that deletes have left sparse, moves pages to the front of the file, and cuts it.
        `max_bytes_per_second`: of the leaves that are looked at; 0: no limit. An exception of `progress`, False and a
        signal stop it; what was done so far stays.
        """
        told = None if progress is None else lambda *figures: progress(CompactProgress(*figures))
        return CompactInfo(*self._compact(max_bytes_per_second, told))

    def run(self, function: Callable[[_latchkey.Transaction], T], *, isolation: str | None = None,
            read_only: bool = False, durability: str | None = None, attempts: int | None = 1000) -> T:
        """Calls function(transaction) and commits; returns its result.

        If the transaction is Aborted, runs it again, with growing pauses: so `function` must have no other effects.
        It gives up and raises Aborted after `attempts` (None: no limit), and at once if the transaction waits for a
        key that its own thread holds, or that stays locked for longer than lock_wait_ms. An Aborted of another
        transaction or of a tree inside the function is raised at once. `raise Aborted()` asks for a repetition.
        """
        if attempts is not None and attempts < 1:
            raise ValueError(f"attempts={attempts}: give at least 1, or None")
        attempt = 0
        while True:
            attempt += 1
            try:
                transaction = self.transaction(isolation=isolation, read_only=read_only, durability=durability)
                with transaction:
                    return function(transaction)
            except Aborted as error:
                is_asked_for = transaction.was_aborted or not error.args
                if not is_asked_for or transaction.is_vain_to_repeat:
                    raise
                if attempt == attempts:
                    raise Aborted(f"gave up after {attempt} attempts: {error}") from error
            time.sleep(random.random() * min(0.05, 0.0002 * 2 ** min(attempt, 8)))


def open(path: str | os.PathLike[str], *, log: Callable[[int, str], object] | None = None,  # pylint: disable=redefined-builtin
         on_event: Callable[[str, str, float], object] | None = None, **options: str | int | float | bool) -> Database:
    """Opens the database in the directory `path`, and creates it if it is missing.

    Options have the names of the command line with underscores: cache_size="256MiB", durability="group".
    latchkey.options() lists them. log(level, message) receives messages with the levels of `logging`, from any
    thread: log=logging.getLogger("latchkey").log. on_event(kind, message, seconds) receives what a program may want
    to react to: "checkpoint", "stall", "write_error", "read_only", "slow_call" (option slow_call_ms); `seconds` is of
    the checkpoint, the wait or the call, otherwise 0. Both must return soon and not use the database.
    """
    text = {name: text_of(name, value) for name, value in options.items()}
    database = Database(os.fsencode(path), text, log, on_event)
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
