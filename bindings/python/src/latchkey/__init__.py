"""Latchkey: an embedded, ordered, transactional key/value store.

    import latchkey

    with latchkey.open("accounts.db") as db:
        accounts = db.tree("accounts")
        accounts[b"alice"] = b"100"
        with db.transaction() as tx:
            tx.put(accounts, b"bob", b"10")
            for key, value in tx.scan(accounts, prefix=b"a"):
                print(key, value)
"""

from ._latchkey import (MAX_KEY_SIZE, MAX_TREE_NAME_SIZE, MAX_VALUE_SIZE, BulkLoader, Cursor, Savepoint, Scan,
                        Transaction, Tree, WriteBatch, options, version)
from .backups import BackupInfo, BackupPhase, BackupProgress, check_backups, list_backups, restore_backup
from .compaction import CompactInfo, CompactProgress
from .database import Database, open  # pylint: disable=redefined-builtin
from .errors import (Aborted, AlreadyExists, Cancelled, DataLoss, Error, FailedPrecondition, InternalError, InvalidArgument,
                     NotFound, PermissionDenied, ResourceExhausted, Unavailable, UnknownError)
from .keys import KeyReader, KeyWriter

__all__ = [
    "Aborted", "AlreadyExists", "BackupInfo", "BackupPhase", "BackupProgress", "BulkLoader", "Cancelled",
    "CompactInfo", "CompactProgress", "Cursor", "DataLoss", "Database", "Error", "FailedPrecondition", "InternalError", "InvalidArgument", "KeyReader", "KeyWriter",
    "MAX_KEY_SIZE", "MAX_TREE_NAME_SIZE", "MAX_VALUE_SIZE", "NotFound", "PermissionDenied",
    "ResourceExhausted", "Savepoint", "Scan", "Transaction", "Tree", "Unavailable", "UnknownError", "WriteBatch",
    "check_backups", "list_backups", "open", "options", "restore_backup", "version",
]
__version__ = version
