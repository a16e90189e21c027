"""Pipelines: what a choice costs, whether workers are kept busy, how soon a child is queued."""
