"""Scores: what arithmetic says of a candidate's picture, for runs whose gates a scorer opens."""

from comfyfleet.pipelines.scoring.choose import HIDDEN, choose
from comfyfleet.pipelines.scoring.take import Unscored, leave_scored, list_step, list_unscored, take_runs

__all__ = ["HIDDEN", "Unscored", "choose", "leave_scored", "list_step", "list_unscored", "take_runs"]
