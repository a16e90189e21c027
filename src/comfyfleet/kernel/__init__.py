"""The words everything else is written in. Imports nothing of ours."""
