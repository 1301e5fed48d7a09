"""What the code may do with files: nothing that it reads can run code, unless it is told to."""

from __future__ import annotations

import ast
import re

import pytest
from test_architecture import OTHERS, PRODUCT, ROOT, name_of, tree_of

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

RUNS_CODE = {
    "eval",
    "exec",
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "cloudpickle.load",
    "cloudpickle.loads",
    "joblib.load",
    "torch.load",
    "np.load",
    "numpy.load",
    "yaml.load",
    "load_from_zip_file",
    "MaskablePPO.load",
    "PPO.load",
    "DQN.load",
    "marshal.loads",
    "os.system",
}

ALLOWED = {
    # Machine code from the user's own cache folder, which is as safe as the files of the package.
    ("pyramid_env/jit.py", "pickle.loads"),
    # Only of a file that is called trusted, and with a warning.
    ("agents/sb3.py", "load_from_zip_file"),
    # With weights_only=True.
    ("agents/training/run.py", "torch.load"),
}


def calls_in(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(ast.unparse(call.func), call) for call in calls]


def dangers_in(name: str, tree: ast.AST) -> set[tuple[str, str]]:
    found = set()
    for function, call in calls_in(tree):
        keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        if function in RUNS_CODE or keywords.get("allow_pickle") == "True":
            found.add((name, function))
        if function == "torch.load":
            assert keywords.get("weights_only") == "True", name
        if keywords.get("shell") == "True":
            found.add((name, "shell=True"))
    return found


def test_nothing_that_is_read_can_run_code() -> None:
    files = [*PRODUCT, *(path for path in OTHERS if "tests" not in path.parts)]
    found: set[tuple[str, str]] = set()
    for path in files:
        found |= dangers_in(name_of(path), tree_of(path))
    assert found == ALLOWED


@pytest.mark.parametrize(
    "code",
    ["pickle.load(file)", "np.load(path, allow_pickle=True)", "run('ls', shell=True)", "eval(x)"],
)
def test_what_could_run_code_is_seen(code: str) -> None:
    assert dangers_in("file", ast.parse(code))


UPPER_BOUNDS = {
    "gymnasium": "a second major version may change the interface that the environments are",
    "mkdocs": "MkDocs 2 is announced without the plugins that the theme and the reference are",
}
"""Dependencies with an upper bound, and the break that is known or announced by it."""


def test_no_dependency_is_held_back_without_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(text for extra in extras for text in extra)]
    bounded = {
        re.split(r"[\[<>=!~ ;]", text)[0]
        for text in wanted
        if re.search(r"<|==|~=", text.partition(";")[0])
    }
    assert bounded == UPPER_BOUNDS.keys()
