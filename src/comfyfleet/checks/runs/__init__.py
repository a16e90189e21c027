"""The invariants of pipeline runs: counts are what they count, and a tree is what its rules allow."""
