"""OpenSpiel: the game as a Python game for one player, with chance nodes that turn cards up.

Needs the extra ``open_spiel``. Importing this module registers the game::

    import pyspiel
    import pyramid_env.integrations.open_spiel

    game = pyspiel.load_game("python_pyramid(rules=kawu)")

A card is dealt, by a chance node, when the player first sees it; until then it may be any of those
left. So a state holds nothing that the player does not know, and a search over it is fair. Outcomes
of chance are ranks, since suits never matter: 0 is an ace, 12 a king.

Parameters: `rules` (a preset's name), `information` (``fair``, or ``thoughtful``: all cards are
dealt before the first move) and `reward` (``cards``: goal cards removed; ``win``: 1 for a win),
which comes at the end. With unlimited passes a game ends after `pyramid_env.episode.step_limit`
moves at the latest, and it goes on while there are cards that the player has not seen.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from pyramid_env.actions import DRAW, action_table
from pyramid_env.cards import N_CARDS, N_RANKS, RANK_LETTERS, make_card, rank_of
from pyramid_env.deals import Deal
from pyramid_env.engine import (
    ALL_CARDS,
    MAX_LEGAL,
    Position,
    apply,
    compile_rules,
    face_down_of,
    find_rank_bits,
    is_won,
    legal_actions,
    start_position,
)
from pyramid_env.episode import step_limit
from pyramid_env.observation import (
    FACE_DOWN,
    Information,
    is_thoughtful,
    observation_fields,
    observation_space,
    observe,
)
from pyramid_env.rules import get_rules

N_SUITS = 4

_RANKS = range(1, N_RANKS + 1)

_PARAMETERS: dict[str, Any] = {"rules": "kawu", "information": "fair", "reward": "cards"}

_TYPE = pyspiel.GameType(
    short_name="python_pyramid",
    long_name="Pyramid Solitaire",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.GENERAL_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=1,
    min_num_players=1,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=_PARAMETERS,
)


class _Variant:
    """What the parameters say; states share it, copies of states too."""

    def __init__(self, rules: str, information: Information, reward: str) -> None:
        if reward not in ("cards", "win"):
            raise ValueError(f"reward={reward!r} is not allowed: 'cards' or 'win'")
        self.rules = get_rules(rules)
        self.information = information
        self.is_thoughtful = is_thoughtful(information)
        self.reward_is_win = reward == "win"
        self.record = compile_rules(self.rules)[0]
        self.actions = action_table(self.rules)
        self.draw = self.actions.action(DRAW)
        self.longest_game = self.rules.longest_game or step_limit(self.rules)
        self.categories = observation_space(self.rules).nvec.astype(np.int64)
        self.max_return = 1 if self.reward_is_win else self.rules.goal_size

    def __deepcopy__(self, memo: dict[int, Any]) -> _Variant:
        return self

    def face_down(self, position: Position) -> int:
        """The cards that the player has not seen, as bits."""
        return 0 if self.is_thoughtful else int(face_down_of(np.uint64(position), self.record))


class PyramidGame(pyspiel.Game):  # type: ignore[misc]
    """Pyramid Solitaire with the parameters that the module describes."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        self.variant = _Variant(**{**_PARAMETERS, **(params or {})})
        info = pyspiel.GameInfo(
            num_distinct_actions=len(self.variant.actions),
            max_chance_outcomes=N_RANKS,
            num_players=1,
            min_utility=0.0,
            max_utility=float(self.variant.max_return),
            max_game_length=self.variant.longest_game,
        )
        super().__init__(_TYPE, info, params or {})

    def new_initial_state(self) -> PyramidState:
        """A state with no card dealt yet."""
        return PyramidState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Each card is dealt once."""
        return N_CARDS

    def make_py_observer(
        self, iig_obs_type: Any = None, params: dict[str, Any] | None = None
    ) -> PyramidObserver:
        """The view of the player; see `PyramidObserver`."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return PyramidObserver(self.variant, kind, params)


class PyramidState(pyspiel.State):  # type: ignore[misc]
    """One game, as far as it has been dealt and played."""

    def __init__(self, game: PyramidGame) -> None:
        super().__init__(game)
        self._variant = game.variant
        self._position = Position(int(start_position()))
        self._ranks = bytes(N_CARDS)  # in deal order, 0 where none is dealt yet
        self._dealt = 0  # places, as bits
        self._undealt = 0  # places, as bits, whose card the player must be shown now
        self._legal: tuple[int, ...] = ()
        self._moves: tuple[int, ...] = ()
        self._look()

    @property
    def position(self) -> Position:
        """Where the game stands (see `pyramid_env.engine`)."""
        return self._position

    @property
    def moves(self) -> tuple[int, ...]:
        """The player's actions so far."""
        return self._moves

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the 52 cards in deal order, 0 where none is dealt yet."""
        return tuple(self._ranks)

    def current_player(self) -> int:
        """Chance while a card is to be dealt, else player 0 until the game is over."""
        if self.is_terminal():
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if self._undealt else 0

    def is_terminal(self) -> bool:
        """Whether the game is won or lost."""
        return not (self._undealt or self._legal)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The ranks (from 0) that the card to be dealt may have, with their probabilities."""
        left = {rank: N_SUITS - self._ranks.count(rank) for rank in _RANKS}
        total = sum(left.values())
        return [(rank - 1, n / total) for rank, n in left.items() if n]

    def outcome_of(self, deal: Deal) -> int:
        """The outcome of this chance node when `deal` is played; `ValueError` at any other node."""
        if not self._undealt:
            raise ValueError("no card is to be dealt now")
        return rank_of(deal.cards[self._next_place()]) - 1

    def returns(self) -> list[float]:
        """The return, at the end; 0 until then."""
        if not self.is_terminal():
            return [0.0]
        gone = int(self._variant.record["goal"]) & ~self._position
        won = is_won(np.uint64(self._position), self._variant.record)
        return [float(won) if self._variant.reward_is_win else float(gone.bit_count())]

    def observation(self) -> NDArray[np.int16] | None:
        """What `PyramidEnv` shows of this position; None while a card is to be dealt."""
        if self._undealt:
            return None
        left = {rank: [make_card(rank, suit) for suit in range(N_SUITS)] for rank in _RANKS}
        dealt = [left[rank].pop() if rank else None for rank in self._ranks]
        rest = chain.from_iterable(left.values())
        made_up = Deal(tuple(next(rest) if card is None else card for card in dealt))
        return observe(self._position, made_up, self._variant.rules, self._variant.information)

    def _legal_actions(self, player: int) -> list[int]:
        return list(self._legal)

    def _apply_action(self, action: int) -> None:
        if self._undealt:
            if not 0 <= action < N_RANKS or self._ranks.count(action + 1) == N_SUITS:
                raise ValueError(f"outcome {action} is no rank that is left: 0 to {N_RANKS - 1}")
            place = self._next_place()
            self._ranks = self._ranks[:place] + bytes([action + 1]) + self._ranks[place + 1 :]
            self._dealt |= 1 << place
        elif action in self._legal:
            position = apply(np.uint64(self._position), action, self._variant.record)
            self._position = Position(int(position))
            self._moves = (*self._moves, action)
        else:
            raise ValueError(f"action {action} is illegal here: {self._legal} are legal")
        self._look()

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return RANK_LETTERS[action]
        return str(self._variant.actions[action])

    def __str__(self) -> str:
        ranks = "".join(RANK_LETTERS[rank - 1] if rank else "?" for rank in self._ranks)
        moves = " ".join(str(self._variant.actions[action]) for action in self._moves)
        return f"{ranks} {moves}".rstrip()

    def _next_place(self) -> int:
        return (self._undealt & -self._undealt).bit_length() - 1

    def _look(self) -> None:
        """Find what is to be dealt and, when nothing is, what is legal."""
        position = np.uint64(self._position)
        record = self._variant.record
        self._undealt, self._legal = 0, ()
        if is_won(position, record) or len(self._moves) >= self._variant.longest_game:
            return
        face_down = self._variant.face_down(self._position)
        self._undealt = int(ALL_CARDS) & ~face_down & ~self._dealt
        if self._undealt:
            return
        rank_bits = np.empty(N_RANKS + 1, dtype=np.uint64)
        find_rank_bits(np.frombuffer(self._ranks, dtype=np.uint8) - np.uint8(1), rank_bits)
        actions = np.empty(MAX_LEGAL, dtype=np.int16)
        count = legal_actions(position, rank_bits, record, actions)
        self._legal = tuple(sorted(actions[:count].tolist()))
        if not self._legal and face_down:  # the kernel looked ahead at cards not dealt yet
            self._legal = (self._variant.draw,)


class PyramidObserver:
    """The player's view as OpenSpiel asks for it: `tensor`, its parts in `dict`, and a string.

    `observation` is the observation of `PyramidEnv`, one-hot; an information state has also the
    cards dealt (`cards`, one-hot by place) and `moves` (a number from 0 to 1 for each action so
    far). All of it is public: there is one player. All zero while a card is to be dealt.
    """

    def __init__(self, variant: _Variant, kind: Any, params: dict[str, Any] | None) -> None:
        if params:
            raise ValueError(f"an observer takes no parameters, but got {params}")
        self._variant = variant
        self._is_public = kind.public_info
        self._recalls = kind.perfect_recall
        shapes: dict[str, tuple[int, ...]] = {}
        if self._is_public:
            shapes["observation"] = (int(variant.categories.sum()),)
            if self._recalls:
                shapes |= {"cards": (N_CARDS, N_RANKS), "moves": (variant.longest_game,)}
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), dtype=np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1]) if sizes else []
        self.dict = {
            name: part.reshape(shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }

    def set_from(self, state: PyramidState, player: int) -> None:
        """Write the view of a state into `tensor`."""
        self.tensor.fill(0)
        observation = state.observation()
        if not self._is_public or observation is None:
            return
        starts = self._variant.categories.cumsum() - self._variant.categories
        self.dict["observation"][starts + observation] = 1
        if self._recalls:
            for place, rank in enumerate(state.ranks):
                if rank:
                    self.dict["cards"][place, rank - 1] = 1
            taken = np.array(state.moves, dtype=np.float32) + 1
            self.dict["moves"][: len(taken)] = taken / len(self._variant.actions)

    def string_from(self, state: PyramidState, player: int) -> str:
        """The view of a state as text."""
        if not self._is_public:
            return ""
        if self._recalls:
            return str(state)
        observation = state.observation()
        if observation is None:
            return "a card is to be dealt"
        fields = observation_fields(self._variant.rules)._asdict()
        return "\n".join(
            f"{name}: {_text(name, observation[part].tolist())}" for name, part in fields.items()
        )


def _text(name: str, numbers: list[int]) -> str:
    if name in ("passes_left", "unseen"):
        return " ".join(map(str, numbers))
    letters = {0: ".", FACE_DOWN: "?", **dict(enumerate(RANK_LETTERS, start=1))}
    return "".join(letters[number] for number in numbers)


pyspiel.register_game(_TYPE, PyramidGame)
