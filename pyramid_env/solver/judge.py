"""The solver within other kernels: can the goal be reached, for many orders of the hidden cards.

`solve` is for one position and any question. A search that asks about thousands of positions of a
game, or labels for training, cannot afford a call from Python for each of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.engine import is_won
from pyramid_env.jit import kernel
from pyramid_env.rules import Rules
from pyramid_env.solver import relaxation, search
from pyramid_env.solver.facts import FACTS_DTYPE, meeting_of, write_facts
from pyramid_env.solver.moves import WIN
from pyramid_env.solver.solving import LONGEST_LINE

WON, LOST, UNDECIDED = 1, 0, -1
"""What `can_win` returns: the goal can be reached, cannot, or it has not come to an end."""

_MEMO_SIZE = 2**13
_LARGE_SIZE = 2**13
_SMALL_NODES = 200  # more than most positions need, and the small table is cleared in no time


class Judge(NamedTuple):
    """What `can_win` works with; one a thread."""

    meeting: NDArray[np.uint64]
    """uint64[52]: of the rules, see `facts`."""

    facts: NDArray[np.void]
    """One `FACTS_DTYPE` record: the order of the cards that is asked about."""

    memo: relaxation.Memo
    """Relaxed games, the same for all orders of the cards outside the pyramid."""

    small: search.Search
    """Where each search begins."""

    large: search.Search
    """Where a search begins anew that has outgrown the small one."""


def new_judge(rules: Rules) -> Judge:
    """A judge of positions by some rules."""
    large = search.new_search(LONGEST_LINE)
    return Judge(
        meeting=meeting_of(rules),
        facts=np.empty(1, FACTS_DTYPE),
        memo=relaxation.new_memo(_MEMO_SIZE),
        small=search.new_search(LONGEST_LINE),
        large=large._replace(
            visited=np.zeros(_LARGE_SIZE, np.uint64), n_moves=np.empty(_LARGE_SIZE, np.int16)
        ),
    )


MOST_NODES = _LARGE_SIZE // 2 - 1
"""Positions that one question of `can_win` may meet at most."""


@kernel
def take_up(cards: Any, judge: Any) -> None:
    """Turn to a deal, by its cards (uint8[52])."""
    take_up_order(cards, judge)
    relaxation.forget(judge.memo)


@kernel
def take_up_order(cards: Any, judge: Any) -> None:
    """Turn to a deal that differs from the last only in the order of reserve and stock."""
    write_facts(cards, judge.meeting, judge.facts)


@kernel
def can_win(position: Any, node_limit: Any, rules_array: Any, judge: Any) -> Any:
    """`WON` or `LOST`, or `UNDECIDED` after `node_limit` positions.

    `position` is one of the deal that was taken up last; `node_limit` is at most `MOST_NODES`. In
    the rare case that the memo is too small for the question, that is left undecided, too.
    """
    if is_won(position, rules_array[0]):
        return np.int64(WON)
    _make_room(judge.memo)
    answer = _ask(position, min(node_limit, _SMALL_NODES), rules_array, judge, judge.small)
    if answer == UNDECIDED and node_limit > _SMALL_NODES:
        answer = _ask(position, node_limit, rules_array, judge, judge.large)
    return answer


@kernel
def is_out_of_reach(position: Any, rules: Any, judge: Any) -> Any:
    """Whether a look at the relaxed game shows that the goal cannot be reached; no search.

    While another pass follows, the order of the cards outside the pyramid makes no difference.
    """
    _make_room(judge.memo)
    facts = judge.facts[0]
    return relaxation.fewest_left(position, True, facts["partners"], facts, rules, judge.memo) > 0


@kernel
def _make_room(memo: Any) -> None:
    """It may hold up to half its size, so each question finds room for as much again."""
    if 4 * memo.n_stored[0] >= memo.states.size:
        relaxation.forget(memo)


@kernel
def _ask(position: Any, node_limit: Any, rules_array: Any, judge: Any, room: Any) -> Any:
    setting = WIN, judge.facts, rules_array, room, judge.memo
    if search.begin(position, *setting) != search.DONE:
        return np.int64(UNDECIDED)
    if search.go_on(node_limit, *setting) != search.DONE:
        return np.int64(UNDECIDED)
    return np.int64(room.progress[0]["best"])
