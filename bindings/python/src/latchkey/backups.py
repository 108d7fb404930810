"""Backups of a database: Database.backup makes them."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from typing import Callable, Optional

from . import _latchkey
from .option_text import text_of


class BackupPhase(enum.IntEnum):
    """Steps of a backup, a check or a restore, in their order."""

    CHECKPOINT = 0
    """The backup fixes its first point."""
    PAGES = 1
    """Pages are copied, checked or restored."""
    LOG = 2
    """The rest of the log is copied, checked or restored."""
    CHECK = 3
    """The files are read back; a restored database is recovered and verified."""


@dataclass(frozen=True)
class BackupProgress:
    """How far a backup, a check or a restore has come."""

    phase: BackupPhase
    done: int
    """Of the phase: page ids or bytes."""
    total: int
    """0: not known."""
    bytes: int
    """Written so far, or read by a check."""


@dataclass(frozen=True)
class BackupInfo:
    """A finished backup."""

    number: int
    """1: the full backup; the others are incremental."""
    id: int
    parent_id: int
    """Of the backup before; 0: none."""
    database_id: int
    pages: int
    """Page images in its files."""
    resumed_pages: int
    """Of these, pages that an interrupted attempt had copied."""
    bytes: int
    """Of its files."""
    log_bytes: int
    """Of these, of the log."""


# Called every few MiB, by the thread that called. False: stop, and Cancelled is raised.
Progress = Callable[[BackupProgress], Optional[bool]]


def telling(progress: Progress | None) -> Callable[[int, int, int, int], bool | None] | None:
    """`progress` as the extension calls it."""
    if progress is None:
        return None
    return lambda phase, done, total, size: progress(BackupProgress(BackupPhase(phase), done, total, size))


def list_backups(directory: str | os.PathLike[str]) -> list[BackupInfo]:
    """The finished backups in `directory`, oldest first. NotFound: there is none."""
    return [BackupInfo(*each) for each in _latchkey.list_backups(os.fsencode(directory))]


def check_backups(directory: str | os.PathLike[str], *, number: int = 0,
                  progress: Progress | None = None) -> list[BackupInfo]:
    """As list_backups, and proves every byte. `number`: the newest backup to check; 0: all of them.

    DataLoss names the file that is damaged or missing.
    """
    return [BackupInfo(*each) for each in _latchkey.check_backups(os.fsencode(directory), number, telling(progress))]


def restore_backup(directory: str | os.PathLike[str], path: str | os.PathLike[str], *, number: int = 0,
                   verify: bool = True, progress: Progress | None = None,
                   **options: str | int | float | bool) -> None:
    """Makes a database at `path` from the backups in `directory`. `number`: of the backup; 0: the newest.

    `path` must be missing or an empty directory; it gets its content in one step, at the end. `options` are those of
    open(). `verify` walks every tree of the new database at the end.
    """
    text = {name: text_of(name, value) for name, value in options.items()}
    _latchkey.restore_backup(os.fsencode(directory), os.fsencode(path), number, text, verify, telling(progress))
