#!/usr/bin/env python3
"""A first program: stores accounts and moves money between them. example.py [PATH]"""

import sys

import latchkey


def transfer(tx, accounts, source, target, amount):
    """Moves an amount, or raises and changes nothing."""
    left = int(tx.get(accounts, source, b"0")) - amount
    if left < 0:
        raise ValueError(f"{source.decode()} has too little")
    tx.put(accounts, source, b"%d" % left)
    tx.put(accounts, target, b"%d" % (int(tx.get(accounts, target, b"0")) + amount))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "accounts.db"
    with latchkey.open(path) as db:
        accounts = db.tree("accounts")
        accounts[b"alice"] = b"100"
        accounts[b"bob"] = b"0"
        db.run(lambda tx: transfer(tx, accounts, b"alice", b"bob", 10))
        for name, amount in accounts.scan():
            print(name.decode(), "has", amount.decode())


if __name__ == "__main__":
    main()
