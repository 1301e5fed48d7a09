"""Readers of outside data meet damaged inputs: a sample of what `python -m tests.fuzz` tries."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import POLICY_CONFIG, TARGETS, policy, saved_game, sweep

AWKWARD = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\r",
    b'"',
    b",",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"[]",
    b"{}",
    b"9" * 30,
    b"9" * 5000,
    b"[" * 2000,
    b"A" * 140_000,
    "\u2028♠ſ٣".encode(),
]
"""What readers stumble over."""

EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 12),
        st.one_of(st.sampled_from(AWKWARD), st.binary(max_size=4)),
    ),
    max_size=4,
)
"""Where, by the share of the whole, how many bytes are replaced, and by what."""


def edited(data: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for where, length, new in edits:
        at = int(where * len(data))
        data = data[:at] + new + data[at + length :]
    return data


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=40)
@given(st.data())
def test_a_damaged_input_is_complained_about_in_one_line(name: str, data: st.DataObject) -> None:
    target = TARGETS[name]
    seed = data.draw(st.sampled_from(target.seeds()))
    target.read(edited(seed, data.draw(EDITS)))


def sweep_settings(**changes: object) -> bytes:
    fields = json.loads((sweep("csv") / "sweep.json").read_bytes())
    return json.dumps(fields | changes).encode()


FOUND = {
    "a long word is not repeated whole": ("deal_text", b"x" * 10_000),
    "nor that of a move": ("move_text", b"x" * 10_000),
    "a number of very many digits": ("deal_file", b"7\n" + b"9" * 5000),
    "passes of very many digits": ("rules_words", b"--passes " + b"9" * 5000),
    "an objective of very many characters": ("command", b"solve 1 --objective " + b"9" * 5000),
    "JSON nested too deep": ("evaluation_settings", b"[" * 100_000),
    "the same in a sweep": ("sweep_settings", b'{"rules": ' + b"[" * 100_000),
    "the same in a policy file": ("policy_config", b"[" * 100_000),
    "a policy that is null": ("policy_config", b"null"),
    "a policy of more layers than fit into memory": (
        "policy_config",
        POLICY_CONFIG.replace(b'"layers": 1', b'"layers": 1000000000'),
    ),
    "a number too large for an array": ("optima", b"deal,winnable,most_cards\n0,1," + b"9" * 30),
    "a table that is no UTF-8": ("games", b"deal,won\xff"),
    "a field that is too large": ("games", b'deal,"' + b"a" * 200_000),
    "a curve that is no UTF-8": ("learning_curve", b"steps\xff"),
    "a sweep of more chunks than can be counted": (
        "sweep_settings",
        sweep_settings(deals=[0, 2**63], chunk=1),
    ),
    "a chunk cut short": (
        "sweep_parquet",
        (sweep("parquet") / "chunk-0000000000.parquet").read_bytes()[:-9],
    ),
    "a chunk with another foot": (
        "sweep_parquet",
        (sweep("parquet") / "chunk-0000000000.parquet").read_bytes()[:4] + b"\xff" * 900 + b"PAR1",
    ),
    "a chunk whose words are no text": (
        "sweep_parquet",
        (sweep("parquet") / "chunk-0000000000.parquet").read_bytes().replace(b"PROV", b"P\xffOV"),
    ),
    "a policy cut short": ("policy_file", policy()[:-9]),
    "a saved game of a number too large": (
        "saved_game",
        saved_game().replace(b'"deal": 7', b'"deal": 1' + b"0" * 400),
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_fuzzing_has_found(what: str) -> None:
    name, data = FOUND[what]
    TARGETS[name].read(data)
