"""A first program in Python: stores a key and reads it."""
import latchkey

with latchkey.open("first_python.db") as db:
    users = db.tree("users")
    users[b"ann"] = b"Oslo"
    print("ann lives in", users[b"ann"].decode())
