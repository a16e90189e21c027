"""Every state and every event: it moves as the table says, or it is refused."""

from itertools import product

import pytest

from comfyfleet.kernel.errors import IllegalMove
from comfyfleet.storage.lifecycle import FILE, FileEvent, FileStatus

MOVES = {
    (FileStatus.PENDING, FileEvent.STORE): FileStatus.STORED,
    (FileStatus.PENDING, FileEvent.DELETE): FileStatus.DELETED,
    (FileStatus.STORED, FileEvent.DELETE): FileStatus.DELETED,
}


@pytest.mark.parametrize(("state", "event"), list(product(FileStatus, FileEvent)))
def test_a_file_moves_only_as_the_table_says(state: FileStatus, event: FileEvent) -> None:
    if (state, event) in MOVES:
        assert FILE.next(state, event) == MOVES[state, event]
    else:
        with pytest.raises(IllegalMove):
            FILE.next(state, event)


def test_a_file_begins_pending_and_ends_deleted() -> None:
    assert FILE.initial is FileStatus.PENDING
    assert FILE.terminal == [FileStatus.DELETED]
