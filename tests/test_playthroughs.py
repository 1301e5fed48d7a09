"""One game of every preset as a text file, replayed.

``python tests/make_golden.py`` writes the files.
"""

import pytest
from make_golden import PLAYTHROUGHS
from playthroughs import playthrough_text, read_playthrough

from pyramid_env.rules import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_a_playthrough_replays_line_by_line(preset: str) -> None:
    text = (PLAYTHROUGHS / f"{preset}.txt").read_text("utf-8")
    rules, deal, moves = read_playthrough(text)
    assert rules == preset
    assert playthrough_text(preset, deal, moves).splitlines() == text.splitlines()


def test_no_preset_lacks_a_playthrough_and_no_file_lacks_a_preset() -> None:
    assert {path.stem for path in PLAYTHROUGHS.iterdir()} == set(PRESETS)


def test_every_playthrough_is_a_whole_game_small_enough_to_review() -> None:
    for path in PLAYTHROUGHS.iterdir():
        text = path.read_text("utf-8")
        assert text.splitlines()[2].split()[0] in ("won", "lost")
        assert len(text.splitlines()) < 120
