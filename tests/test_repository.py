"""What must stay true of the repository as a whole: public names, version and changelog, tree in the README, sizes."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

import anselect

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "anselect"
MAX_FILE_LINES, MAX_FUNCTION_LINES = 400, 60


def test_public_names_are_the_documented_ones() -> None:
    assert anselect.__all__ == sorted(anselect.__all__)
    assert len(anselect.__all__) <= 15
    assert {name for name in vars(anselect) if not name.startswith("_")} - set(anselect.__all__) <= {
        "annotations",
        *(path.stem for path in PACKAGE.iterdir()),
    }


def test_version_stands_in_the_changelog() -> None:
    heading = "Unreleased" if ".dev" in anselect.__version__ else anselect.__version__
    assert f"## [{heading}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_readme_tree_names_every_folder() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in PACKAGE.rglob("*.py")} - {"anselect"}
    missing = {name for name in folders if not re.search(rf"^\s+{name}/ ", readme, re.MULTILINE)}
    assert not missing


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_and_functions_stay_small(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MAX_FILE_LINES
    long = [
        f"{node.name}: {(node.end_lineno or 0) - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert not long


def test_documentation_links_lead_to_files() -> None:
    broken = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken


def test_repository_speaks_of_the_product_alone() -> None:
    try:
        names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
            "\n"
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    own = re.compile("/" + r"(?:work|root)/\w|(?:extra-)?index" + r"-url", re.IGNORECASE)
    found = []
    for name in filter(None, names):
        path = ROOT / name
        if (
            path.is_file()
            and path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".html"}
            and own.search(path.read_text("utf-8"))
        ):
            found.append(name)
    assert not found
