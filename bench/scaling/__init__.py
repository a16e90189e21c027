"""Scaling policies side by side, in virtual time."""
