"""The documentation is true: its examples run, show what they say they show, and its links lead on.

The blocks of a page run in order, in one folder of their own, in which ``docs`` is that of the
repository:

- ``python`` blocks share their names. Where an expression is followed by a comment that begins
  with a value (``view.value("ada", "lives_in")  # 'London': what we believed``), it has that value.
- ``console`` blocks that call ``doxa`` are typed into a shell: lines after ``$`` (and their
  continuations after ``>``) are commands, the others what is shown, ``…`` standing for anything. A
  command that shows nothing is only run. A command fails the page unless the next one is
  ``$ echo $?``, below which its exit code is shown. A ``doxa`` that needs no shell (no pipe, no
  redirection, nothing to expand) is run here, as importing it anew takes longer than it does.
- A word after the language, ``no-run``, leaves a block out.
"""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from doxa.adapters.cli import main
from tests.support import ROOT

# The pages whose examples need a library of an extra.
LIBRARIES = {"audit.md": "cryptography", "encryption.md": "cryptography", "git.md": "pygit2"}
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=NAMES)
# The pages about a framework run in the environment that holds it, and no others do there.
FRAMEWORK = os.environ.get("DOXA_FRAMEWORK")
FRAMEWORK_PAGES = ROOT / "docs" / "frameworks"
RUN_HERE = [
    page
    for page in PAGES
    if (page.stem if page.parent == FRAMEWORK_PAGES else None) == (FRAMEWORK or None)
]
SHELLS = {"bash", "sh", "shell", "zsh"}


class Block(NamedTuple):
    """One fenced block: its language, the words after it, its text, and its first line's number."""

    language: str
    words: list[str]
    text: str
    line: int

    @property
    def runs(self) -> bool:
        return "no-run" not in self.words


class Command(NamedTuple):
    """One command of a console block, and the lines shown below it."""

    text: str
    shown: str
    line: int


def parsed(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    for token in parsed(page):
        if token.type == "fence" and token.map is not None:
            language, *words = token.info.split() or [""]
            yield Block(language, words, token.content, token.map[0] + 2)


def commands(block: Block) -> list[Command]:
    """The commands of a console block, each with what is shown below it."""
    found: list[Command] = []
    continued = False
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            found.append(Command(line[2:], "", number))
            continued = True
        elif not found:
            pytest.fail(f"line {number} of a console block shows output before any '$ ' command")
        elif continued and (line == ">" or line.startswith("> ")):
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line[2:]}")
        else:
            continued = False
            found[-1] = found[-1]._replace(shown=f"{found[-1].shown}{line}\n")
    return found


def calls_doxa(block: Block) -> bool:
    return any(re.search(r"(^|[|;&(]\s*)doxa\b", c.text, re.M) for c in commands(block))


def noted_value(comment: str, names: dict[str, Any]) -> tuple[Any] | None:
    """The value that a comment begins with, up to its end or a colon; none where it is prose."""
    ends = [len(comment), *(m.start() for m in re.finditer(r":\s", comment))]
    for end in ends:
        text = comment[:end].strip()
        if re.fullmatch(r"Standing\.[A-Z_]+", text):
            return (getattr(names["doxa"].Standing, text.partition(".")[2]),)
        try:
            return (ast.literal_eval(text),)
        except (SyntaxError, ValueError):
            continue
    return None


class Noted(ast.NodeTransformer):
    """Hands each expression that has a comment on its last line to ``_noted``, with the comment."""

    def __init__(self, source: str) -> None:
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        self.comments = {
            token.start[0]: token.string.lstrip("# ")
            for token in tokens
            if token.type == tokenize.COMMENT
        }

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if (comment := self.comments.get(node.end_lineno or 0)) is not None:
            name = ast.Name("_noted", ast.Load())
            call = ast.Call(name, [node.value, ast.Constant(comment)], [])
            node.value = ast.copy_location(call, node.value)
        return node


def run_python(block: Block, page: Path, names: dict[str, Any]) -> None:
    def noted(value: object, comment: str) -> None:
        expected = noted_value(comment, names)
        assert expected is None or value == expected[0], f"noted {comment!r}, but it is {value!r}"

    source = "\n" * (block.line - 1) + block.text
    tree = ast.fix_missing_locations(Noted(source).visit(ast.parse(source, str(page))))
    names["_noted"] = noted
    exec(compile(tree, str(page), "exec"), names)


def matches(shown: str, output: str) -> bool:
    """Whether output is what is shown, ``…`` standing for anything, ends of lines aside."""
    want, got = (
        "\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, output)
    )
    pattern = ".*".join(re.escape(piece) for piece in want.split("…"))
    return re.fullmatch(pattern, got, re.DOTALL) is not None


def run_console(block: Block, page: Path, folder: Path) -> None:
    asked = commands(block)
    code = 0
    for position, command in enumerate(asked):
        where = f"{page.name}:{command.line}: $ {command.text}"
        if command.text == "echo $?":
            assert command.shown.strip() == str(code), f"{where}\nis {code}"
            continue
        words = alone(command.text)
        code, shown = in_a_shell(command.text, folder) if words is None else here(words, folder)
        told = position + 1 < len(asked) and asked[position + 1].text == "echo $?"
        assert code == 0 or told, f"{where}\nexits {code}:\n{shown}"
        if command.shown.strip():
            assert matches(command.shown, shown), f"{where}\nshows:\n{shown}"


SETTING = {
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PYTHONUTF8": "1",
}  # of every command


def in_a_shell(text: str, folder: Path) -> tuple[int, str]:
    """A command's exit code, and what it shows, typed into a shell."""
    environment = {name: value for name, value in os.environ.items() if name[:5] != "DOXA_"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env=environment | SETTING | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        encoding="utf-8",
    )
    return ran.returncode, ran.stdout


def alone(text: str) -> list[str] | None:
    """The arguments of a ``doxa`` that a shell would only take apart; none of any other command."""
    line = text.replace("\\\n", "")
    bare = re.sub(r"""'[^']*'|"[^"$`\\]*\"""", "", line)
    if re.match(r"doxa( |$)", bare) is None or re.search(r"""[^\w .,:/+@%=-]""", bare):
        return None
    return shlex.split(line)[1:]


def here(words: list[str], folder: Path) -> tuple[int, str]:
    """The same of ``doxa`` with these arguments, without a process of its own."""
    shown = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in (name for name in os.environ if name[:5] == "DOXA_"):
            patch.delenv(name)
        for name, value in SETTING.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["doxa", *words])
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), "utf-8"))
        with redirect_stdout(shown), redirect_stderr(shown), pytest.raises(SystemExit) as ended:
            main()
    shown.seek(0)
    return int(ended.value.code or 0), shown.read()


def slug(heading: str) -> str:
    """The anchor that a heading is reached by."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    tokens = parsed(page)
    texts = [
        "".join(child.content for child in following.children or [])
        for token, following in pairwise(tokens)
        if token.type == "heading_open"
    ]
    return {slug(text) for text in texts}


def links(page: Path) -> Iterator[str]:
    for token in parsed(page):
        for child in token.children or []:
            for name in ("href", "src"):
                if (target := child.attrGet(name)) is not None:
                    yield str(target)


def run(page: Path, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": f"docs_{slug(page.stem)}"}
    for block in blocks(page):
        if block.runs and block.language == "python":
            run_python(block, page, names)
        elif block.runs and block.language == "console" and calls_doxa(block):
            run_console(block, page, folder)


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_show_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name in LIBRARIES and not os.environ.get("CI"):  # there it is installed
        pytest.importorskip(LIBRARIES[page.name])
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # a hook's, which would lead git to another repository
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    run(page, tmp_path)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param("python\n1 / 0", id="an error"),
        pytest.param("python\n1 + 1  # 3", id="another value"),
        pytest.param("python\n'a'  # 'b': what we believed", id="another value, explained"),
        pytest.param("python\nif True:\n    (1 +\n        1)  # 3", id="another value, nested"),
        pytest.param("console\n$ false || doxa --no-such", id="a command that fails"),
        pytest.param("console\n$ true || doxa; exit 3\n$ echo $?\n1", id="another exit code"),
        pytest.param("console\n$ true || doxa\n$ echo one\ntwo", id="another output"),
        pytest.param("console\n$ true || doxa\n$ echo one more\none", id="half an output"),
    ],
)
def test_an_example_that_is_not_true_is_found_out(example: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```{example}\n```\n", "utf-8")
    with pytest.raises((AssertionError, ArithmeticError)):
        run(page, tmp_path)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param("python\n1 + 1  # 2", id="its value"),
        pytest.param("python\n'a'  # 'a': what we believed", id="its value, explained"),
        pytest.param("python\n1 + 1  # a sum", id="prose"),
        pytest.param("python\nx = 1\n```\n\n```python\nx  # 1", id="a name from the block before"),
        pytest.param("python no-run\n1 / 0", id="left out"),
        pytest.param("console\n$ make doxa-fly", id="nothing of ours"),
        pytest.param("console\n$ true || doxa; exit 3\n$ echo $?\n3", id="its exit code"),
        pytest.param(
            "console\n$ true || doxa\n$ echo one two \\\n>   three\none … three", id="its output"
        ),
        pytest.param(
            "console\n$ true || doxa\n$ cat <<END\n> a\n> b\n> END\na\nb", id="lines typed in"
        ),
    ],
)
def test_an_example_that_is_true_passes(example: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```{example}\n```\n", "utf-8")
    run(page, tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("doxa view a.doxa --valid-at 2024-04-01", ["view", "a.doxa", "--valid-at", "2024-04-01"]),
        ('doxa recall a.doxa "Who?" \\\n  --top-k 1', ["recall", "a.doxa", "Who?", "--top-k", "1"]),
        ("doxa sql a 'SELECT instant($day)'", ["sql", "a", "SELECT instant($day)"]),
        ("doxa view $LEDGER", None),
        ('doxa view "$LEDGER"', None),
        ("doxa view a > b", None),
        ("doxa export a | doxa import b -", None),
        ("doxa view *.doxa", None),
        ("echo doxa", None),
        ("doxa-fly view", None),
    ],
)
def test_a_shell_is_asked_for_what_only_a_shell_can_do(text: str, words: list[str] | None) -> None:
    assert alone(text) == words


@EACH_PAGE
def test_what_a_page_has_people_make_can_be_made(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (frameworks,) = re.findall(r"^FRAMEWORKS := (.+)$", makefile, re.M)
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    targets |= {f"test-{framework}" for framework in frameworks.split()}
    asked = set(re.findall(r"(?:^\$ |`|&& )make ([a-z-]+)", page.read_text("utf-8"), re.M))
    assert asked <= targets


@EACH_PAGE
def test_commands_stand_in_console_blocks_where_they_are_run(page: Path) -> None:
    loose = [
        f"line {block.line}"
        for block in blocks(page)
        if block.language in SHELLS and re.search(r"^(\$ )?doxa\b", block.text, re.M)
    ]
    assert loose == []


@EACH_PAGE
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{link}: there is no {path}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: {target.name} has no such heading"
