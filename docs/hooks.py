"""The site has the repository's layout, so each link is the same here and there.

MkDocs knows the files of one folder, and README, changelog and others lie outside `docs/`. So all
pages are taken from the repository, at the place where they lie in it: `docs/solver.md` stays that,
and its link to `../benchmarks/RESULTS.md` leads there in the site as in a forge's view of the
files. No link is rewritten.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]

PUBLISHED = (
    "*.md",
    "CITATION.cff",
    "LICENSE",
    "agents/weights/README.md",
    "benchmarks/RESULTS.md",
    "docs/**/*.md",
    "docs/*.json",
    "docs/images/*",
    "examples/*.py",
    "tests/test_wrappers.py",
)
"""What a page is made of or links to."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the repository's files in the place of those of `docs/`; the theme's stay."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for pattern in PUBLISHED:
        for path in sorted(ROOT.glob(pattern)):
            uri = path.relative_to(ROOT).as_posix()
            files.append(File(uri, str(ROOT), config.site_dir, config.use_directory_urls))
    return files
