"""The HTTP edge: parse, authenticate, open a transaction, call a verb, answer."""
