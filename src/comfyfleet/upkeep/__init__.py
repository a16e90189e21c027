"""Loops of the control plane: each sees to one thing that nobody reports on."""
