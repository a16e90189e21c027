"""How a simulated worker treats a job: decided by the seed, the job's number and the epoch, and so repeatable."""

import random
from dataclasses import dataclass
from typing import Literal

End = Literal["complete", "fail", "requeue", "forget"]

# From here on a worker behaves: a drain must come to its end.
EPOCHS_OF_MISCHIEF = 3
LONG_S = 4.5
ENDS: dict[tuple[End, str], float] = {
    ("complete", ""): 87.0,
    ("fail", "infra"): 3.0,
    ("fail", "user_input"): 2.0,
    ("fail", "execution_error"): 1.0,
    ("fail", "out_of_memory"): 0.5,
    ("fail", "server_fault"): 0.5,
    ("requeue", ""): 3.0,
    ("forget", ""): 3.0,
}


@dataclass(frozen=True, slots=True)
class Conduct:
    end: End
    failure: str
    run_s: float
    says_it_twice: bool
    loses_the_reply: bool


def conduct_of(seed: str, number: int, epoch: int) -> Conduct:
    chance = random.Random(f"{seed}/{number}/{epoch}")
    end, failure = chance.choices(list(ENDS), weights=list(ENDS.values()))[0]
    if epoch > EPOCHS_OF_MISCHIEF:
        end, failure = "complete", ""
    # Most are short; some live longer than a lease does without heartbeats.
    run_s = chance.uniform(0.5, LONG_S) if chance.random() < 0.03 else chance.uniform(0.002, 0.02)
    return Conduct(end, failure, run_s, says_it_twice=chance.random() < 0.05, loses_the_reply=chance.random() < 0.02)
