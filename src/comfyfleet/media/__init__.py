"""Looking at pictures and films that strangers made: `sniff` by the first bytes, `probe` in a process of its own.

Nothing is imported here: that process starts with this package, once per upload, and has to start fast.
"""
