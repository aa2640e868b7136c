"""Imports run one way: a module may import from layers below its own, never from above or beside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "anselect"

# Top imports from below only; names on one line never import each other.
LAYERS: list[tuple[str, ...]] = [
    ("__main__",),
    ("cli",),
    ("service", "scale", "ask"),
    ("experiments",),
    ("training",),
    ("__init__",),
    ("selector",),
    ("evaluation", "engine", "modeling"),
    ("text",),
    ("data",),
    ("config",),
    ("records", "errors"),
]
DEPTH = {name: depth for depth, names in enumerate(LAYERS) for name in names}


def imported_layers(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "anselect":
                names = [f"anselect.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "anselect":
                yield parts[1] if len(parts) > 1 and parts[1] in DEPTH else "__init__"


def forbidden_imports(path: Path, package: Path = PACKAGE) -> set[str]:
    own = path.relative_to(package).with_suffix("").parts[0]
    return {other for other in imported_layers(path) if other != own and DEPTH[other] <= DEPTH[own]}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_imports_only_lower_layers(path: Path) -> None:
    assert path.relative_to(PACKAGE).with_suffix("").parts[0] in DEPTH, f"{path}: give its folder a layer"
    assert not forbidden_imports(path)


def test_forbidden_import_is_found(tmp_path: Path) -> None:
    module = tmp_path / "data" / "bad.py"
    module.parent.mkdir()
    module.write_text("def f() -> None:\n    from anselect.cli import main\n")
    assert forbidden_imports(module, tmp_path) == {"cli"}
