"""The tree of a run: its candidates, how they compare, and which branches are dead."""
