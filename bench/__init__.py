"""Measurements. Each folder is one: `make bench NAME=dispatch`."""
