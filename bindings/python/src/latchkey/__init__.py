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

from ._latchkey import (MAX_KEY_SIZE, MAX_TREE_NAME_SIZE, MAX_VALUE_SIZE, Cursor, Savepoint, Scan, Transaction, Tree,
                        WriteBatch, options, version)
from .database import Database, open  # pylint: disable=redefined-builtin
from .errors import (Aborted, AlreadyExists, DataLoss, Error, FailedPrecondition, InternalError, InvalidArgument,
                     NotFound, PermissionDenied, ResourceExhausted, Unavailable, UnknownError)

__all__ = [
    "Aborted", "AlreadyExists", "Cursor", "DataLoss", "Database", "Error", "FailedPrecondition", "InternalError",
    "InvalidArgument", "MAX_KEY_SIZE", "MAX_TREE_NAME_SIZE", "MAX_VALUE_SIZE", "NotFound", "PermissionDenied",
    "ResourceExhausted", "Savepoint", "Scan", "Transaction", "Tree", "Unavailable", "UnknownError", "WriteBatch",
    "open", "options", "version",
]
__version__ = version
