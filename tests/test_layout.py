"""The repository keeps the shape that its build table, type checkers and import rules rely on."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
PARTS = ("engine", "projections", "adapters", "oracle", "bench")
LINES = 500

# What the files of a part may import, beyond the standard library, wherever in the file it stands.
ALLOWED = {
    "engine": ("doxa.engine", "pydantic", "pydantic_core", "numpy", "eventsourcing"),
    "projections": (
        *("doxa.projections", "doxa.engine", "numpy", "pyarrow", "duckdb", "regex", "Stemmer"),
    ),
    "oracle": ("doxa.oracle", "doxa.engine.events"),
}
# What the face may import as it is loaded; everything else waits inside functions.
FACE = ("doxa.engine", "pydantic", *(f"doxa.{path.stem}" for path in (ROOT / "doxa").glob("*.py")))
HEAVY = ("duckdb", "pyarrow", "numpy", "eventsourcing", "typer", "rich")

# Paths of one person's machine, and words about how the work is done rather than what it does.
# Spelt so that this file does not match itself.
PRIVATE = re.compile(
    r"(?:^|[^\w.-])/(?:root|home|work|Users)/[A-Za-z.]"
    r"|\b(?:closing|hand-?over)[ ]note\b|\bthis[ ]session\b|\bDEVELOPERS[.]md\b"
    r"|\b(?:issue|ticket|PR)[ ]?#?\d+\b|[.][.]/shared\b"
)


def tracked() -> list[Path]:
    """Every text file that belongs to the repository, links left out."""
    if not (ROOT / ".git").exists():
        pytest.skip("not in a git working tree")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def modules(part: str) -> list[Path]:
    return sorted((ROOT / part).rglob("*.py"))


def imported(node: ast.AST) -> Iterator[str]:
    """The modules that one statement imports; ``from doxa import engine`` is ``doxa.engine``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        dotted = (f"{node.module}.{alias.name}" for alias in node.names)
        yield from dotted if node.module == "doxa" else [node.module]


def loaded_at_once(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run as a module is loaded, those for type checkers left out."""
    for statement in body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        yield statement
        for name in ("body", "orelse", "finalbody", "handlers"):
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = getattr(statement, name, [])
                yield from loaded_at_once([part for part in inner if isinstance(part, ast.stmt)])


def within(module: str, allowed: tuple[str, ...]) -> bool:
    if module.partition(".")[0] in sys.stdlib_module_names:
        return True
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def test_the_build_names_every_package_and_no_other() -> None:
    folders = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for part in PARTS
        for init in (ROOT / part).rglob("__init__.py")
    }
    assert sorted(SETUPTOOLS["packages"]) == sorted(["doxa", *(f"doxa.{f}" for f in folders)])
    assert SETUPTOOLS["package-dir"] == {"doxa": "doxa", **{f"doxa.{p}": p for p in PARTS}}


@pytest.mark.parametrize("part", PARTS)
def test_the_face_links_to_each_part_by_a_relative_link(part: str) -> None:
    link = ROOT / "doxa" / part
    assert link.is_symlink()
    assert link.readlink() == Path("..", part)


def test_the_face_holds_no_folder_of_its_own() -> None:
    inside = {path.name for path in (ROOT / "doxa").iterdir() if path.is_dir()}
    assert inside - {"__pycache__"} == set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_flat_and_adapters_nest_once_at_most(part: str) -> None:
    deepest = max(len(path.relative_to(ROOT / part).parts) for path in modules(part))
    assert deepest <= (2 if part == "adapters" else 1)


@pytest.mark.parametrize("part", ALLOWED)
def test_a_part_imports_only_what_it_may(part: str) -> None:
    strays = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {module}"
        for path in modules(part)
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.stmt)
        for module in imported(node)
        if not within(module, ALLOWED[part])
    ]
    assert strays == []


def test_the_face_loads_the_other_parts_only_when_they_are_used() -> None:
    strays = [
        f"doxa/{path.name}:{statement.lineno} imports {module}"
        for path in (ROOT / "doxa").glob("*.py")
        if path.name != "__main__.py"
        for statement in loaded_at_once(ast.parse(path.read_bytes()).body)
        for module in imported(statement)
        if not within(module, FACE)
    ]
    assert strays == []


def test_importing_doxa_loads_nothing_heavy() -> None:
    program = f"import sys, doxa; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert ran.stdout.split() == []


def test_every_file_of_the_engine_has_its_place_in_the_order() -> None:
    (order,) = (
        [layer.strip("()") for layer in contract["layers"]]
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == ["doxa.engine"]
    )
    for path in modules("engine"):
        if path.name != "__init__.py":
            assert path.stem in order, (
                f"engine/{path.name} has no place yet: in pyproject.toml, in the contract about"
                f" the engine's files, put '({path.stem})' above every file that it imports and"
                f" below every file that imports it; from the top they are {', '.join(order)}"
            )


def test_no_module_outgrows_its_noun() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in (*PARTS, "doxa")
    }
    assert {name: length for name, length in lengths.items() if length > LINES} == {}


def test_no_file_speaks_of_the_machine_or_the_work_it_came_from() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match.group()}"
        for path in tracked()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        for match in PRIVATE.finditer(line)
    ]
    assert found == []


def test_the_wheel_holds_every_module_under_the_one_name_doxa(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for path in tracked():
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = tmp_path / "built"
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={built}", str(source)],
        check=True,
        capture_output=True,
    )
    (wheel,) = built.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())

    info = f"doxa-{PROJECT['project']['version']}.dist-info"
    assert {name.partition("/")[0] for name in held} == {"doxa", info}
    parts = {f"doxa/{path.relative_to(ROOT)}" for part in PARTS for path in modules(part)}
    face = {f"doxa/{path.name}" for path in (ROOT / "doxa").glob("*.py")}
    assert {name for name in held if name.endswith(".py")} == parts | face
    assert {"doxa/py.typed", f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= held

    installed = tmp_path / "installed"
    subprocess.run(
        [*pip, "install", "--no-deps", "--no-index", f"--target={installed}", str(wheel)],
        check=True,
        capture_output=True,
    )
    program = (
        f"import sys; sys.path.insert(0, {str(installed)!r});"
        "import doxa, doxa.engine.events as events, doxa.oracle;"
        "print(doxa.__file__, events.__file__, doxa.oracle.__file__, sep='\\n')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert all(Path(line).is_relative_to(installed) for line in ran.stdout.splitlines())
