"""The shape of the code: who imports whom, and how long and how well described it is."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent

LAYERS = (
    ("texts",),
    ("cards", "pyramid", "rules", "jit", "simd", "files", "workers"),
    ("deals", "actions"),
    ("engine",),
    ("game", "hint", "observation", "rendering", "picture", "solver"),
    ("stepping", "threads", "episode", "env", "vector_env", "play", "replay"),
    ("integrations", "commands"),
    ("agents", "__main__"),
    ("train", "evaluate"),
)
"""Modules and packages by level: one imports from the levels before its own."""

WITHIN_A_LAYER = {
    ("rules", "cards"),
    ("rules", "pyramid"),
    ("workers", "files"),
    ("game", "hint"),
    ("game", "rendering"),
    (
        "game",
        "solver",
    ),  # for exact hints; the solver itself works on positions
    ("rendering", "picture"),
    ("threads", "stepping"),
    ("episode", "stepping"),
    ("episode", "threads"),
    ("env", "episode"),
    ("vector_env", "episode"),
}
"""What else may be imported: importer and imported."""

DRAWN_BY = {"game", "env", "vector_env"}
"""The environments and what people play with: nothing else imports the drawing."""

KEPT_TO = {
    "numba": {"jit", "simd", "threads"},
    "pygame": {"picture", "rendering"},
    "torch": {"integrations", "agents"},
    "stable_baselines3": {"integrations", "agents"},
    "sb3_contrib": {"integrations", "agents"},
    "torchrl": {"integrations"},
    "tensordict": {"integrations"},
    "tianshou": {"integrations"},
    "pyspiel": {"integrations"},
    "matplotlib": {"agents"},
    "filelock": {"workers"},
    "joblib": {"workers"},
    "pyarrow": {"solver"},
    "ray": {"workers", "integrations"},
    "textual": {"play"},
    "platformdirs": {"commands"},
}
"""Libraries that only some parts may use."""

MOST_LINES = 400
LONGEST_FUNCTION = 30
PUBLIC_NAMES = 15


def files_of(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


SCRIPTS = [ROOT / "train.py", ROOT / "evaluate.py"]
PRODUCT = [*files_of("pyramid_env", "agents"), *filter(Path.is_file, SCRIPTS)]
OTHERS = files_of("tests", "benchmarks", "docs", "examples")
FACE = ROOT / "pyramid_env" / "__init__.py"
INNER = [path for path in PRODUCT if path != FACE]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), name_of(path))


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in PRODUCT}


def imports_of(path: Path) -> Iterator[str]:
    """The modules that a file imports when it runs; ours as far as they are modules.

    Under `if TYPE_CHECKING:` nothing is imported, so no circle can come of it.
    """
    tree = tree_of(path)
    for_types = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: relative import"
            module = node.module or ""
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                yield whole if whole in MODULES else module


def part_of(module: str) -> str:
    """The part that a module belongs to, as the layers name it."""
    first, _, rest = module.partition(".")
    return rest.split(".")[0] if first == "pyramid_env" and rest else first


IMPORTS = {path: sorted(set(imports_of(path))) for path in PRODUCT}
PARTS = {part: level for level, parts in enumerate(LAYERS) for part in parts}


@pytest.mark.parametrize("path", INNER, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    importer = part_of(module_of(path))
    assert importer in PARTS, f"give {importer} a place in LAYERS"
    for module in IMPORTS[path]:
        imported = part_of(module)
        if module.split(".")[0] in ("pyramid_env", "agents", "train", "evaluate"):
            assert imported in PARTS, f"{module} is no module: import names from their home"
            assert (
                importer == imported
                or PARTS[imported] < PARTS[importer]
                or (importer, imported) in WITHIN_A_LAYER
            ), f"{name_of(path)} imports {module}"


def test_no_import_leads_back_to_its_start() -> None:
    left = {
        module_of(path): {module for module in IMPORTS[path] if module in MODULES} for path in INNER
    }
    while leaves := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in leaves}
    assert not left, "in or behind a circle: " + ", ".join(sorted(left))


def test_the_environment_never_imports_agents() -> None:
    for path in files_of("pyramid_env"):
        assert not re.search(r"^\s*(from|import) agents\b", path.read_text("utf-8"), re.MULTILINE)


def test_only_who_shows_pictures_imports_the_drawing() -> None:
    for path in INNER:
        if "pyramid_env.rendering" in IMPORTS[path]:
            assert part_of(module_of(path)) in DRAWN_BY, name_of(path)


@pytest.mark.parametrize("library", KEPT_TO)
def test_libraries_are_kept_to_their_parts(library: str) -> None:
    users = {
        part_of(module_of(path))
        for path in INNER
        if any(module.split(".")[0] == library for module in IMPORTS[path])
    }
    assert users <= KEPT_TO[library]


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = [*KEPT_TO, "llvmlite", "pandas", "scipy", "pyramid_env.engine"]
    program = f"import pyramid_env, sys; print([m for m in {heavy} if m in sys.modules])"
    child = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert child.stdout.strip() == "[]"


def test_the_package_has_few_public_names_and_each_has_a_home() -> None:
    [public] = [
        ast.literal_eval(node.value)
        for node in tree_of(FACE).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    ]
    assert len(public) <= PUBLIC_NAMES
    program = f"import pyramid_env; [getattr(pyramid_env, name) for name in {public}]"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


# Length and description


@pytest.mark.parametrize("path", [*PRODUCT, *OTHERS], ids=name_of)
def test_a_module_is_described_and_not_too_long(path: Path) -> None:
    assert ast.get_docstring(tree_of(path)), "no docstring"
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_nineteen_of_twenty_functions_are_short() -> None:
    lengths = sorted(
        ((node.end_lineno or 0) - node.lineno + 1, f"{name_of(path)}: {node.name}")
        for path in PRODUCT
        for node in functions_of(path)
    )
    at_95_percent = np.percentile([length for length, _ in lengths], 95)
    assert at_95_percent <= LONGEST_FUNCTION, lengths[-20:]


def undescribed(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, bool]]:
    """The public classes, functions and methods, and whether each has a docstring."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if child.name.startswith("_"):
                continue
            yield f"{prefix}{child.name}", ast.get_docstring(child) is not None
            if isinstance(child, ast.ClassDef):
                yield from undescribed(child, f"{prefix}{child.name}.")


def test_nine_of_ten_public_names_are_described() -> None:
    described: dict[str, bool] = {}
    for path in PRODUCT:
        described |= dict(undescribed(tree_of(path), f"{name_of(path)}: "))
    missing = [name for name, has_docstring in described.items() if not has_docstring]
    assert len(missing) <= len(described) / 10, missing


def test_nothing_is_left_to_be_done() -> None:
    texts = [*PRODUCT, *OTHERS, *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
    assert [name_of(path) for path in texts if marks.search(path.read_text("utf-8"))] == []
