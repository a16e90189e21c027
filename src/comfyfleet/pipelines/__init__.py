"""Pipelines: runs that make candidates, let people rank them, and refine the best, until somebody has to decide."""
