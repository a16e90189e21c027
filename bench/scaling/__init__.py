"""Scaling policies side by side, in virtual time; and the way from an order to a machine on a live server."""
