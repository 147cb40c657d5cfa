"""What a server lets an agent reach: reading alone, one workspace, resources by any id; and how it
begins where it can't."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.mcp.desk import Desk
from doxa.adapters.mcp.resources import PAGE, Resources, address
from doxa.adapters.mcp.tools import Failed, Toolbox
from tests.frameworks.mcp_agents import PATIENCE, agent, command, environment, raw
from tests.frameworks.test_mcp import READING, RECORDING


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with a claim in each of three workspaces."""
    path = tmp_path / "people.doxa"
    with doxa.open(path) as ledger:
        ledger.claim("ada", "is", "shared", id="c", source="s")
        ledger.claim("ada", "is", "one", id="one", workspace="w1", source="s")
        ledger.claim("ada", "is", "two", id="two", workspace="w2", source="s")
    return path


def refused(folder: Path | str, *options: object, **variables: str) -> tuple[int, str]:
    """The exit code and the line of a server that does not begin; stdout stays empty."""
    ran = subprocess.run(
        command(folder, *options),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(**variables),
        timeout=PATIENCE,
        encoding="utf-8",
    )
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    return ran.returncode, line


# ---------------------------------------------------------------- reading alone


def test_a_server_that_only_reads_has_no_tool_that_records(folder: Path) -> None:
    with agent(folder, "--read-only") as alice:
        assert set(alice.tools()) == READING
        assert "only reads" in str(alice.client.instructions)
        assert "doxa_claim" not in str(alice.client.instructions)
        for tool in RECORDING:
            assert alice.fails(tool, subject="s").startswith(f"read_only: {tool} records")
        assert len(alice.ask("doxa_view")["claims"]) == 1
    with doxa.open(folder) as ledger:
        assert ledger.revision == 3


# ---------------------------------------------------------------- workspaces


def test_a_server_without_a_workspace_takes_one_in_each_call(folder: Path) -> None:
    with agent(folder) as alice:
        for tool in alice.tools().values():
            assert "workspace" in tool.input_schema["properties"]
        assert [one["id"] for one in alice.ask("doxa_view")["claims"]] == ["c"]
        seen = alice.ask("doxa_view", workspace="w1")
        assert [one["id"] for one in seen["claims"]] == ["c", "one"]
        assert seen["view"]["workspace"] == "w1"
        done = alice.ask("doxa_claim", workspace="w1", subject="bo", predicate="is", object=1,
                         because=[{"workspace": "", "id": "c"}, "one"])  # fmt: skip
        assert done["standing"] == "reported"
        assert "workspace w1" in alice.text("doxa_view", workspace="w1")
        assert "two" in alice.read("doxa://view/now?workspace=w2")


def test_a_server_of_one_workspace_reaches_no_other(folder: Path) -> None:
    with agent(folder, "--workspace", "w1") as alice:
        for tool in alice.tools().values():
            assert "workspace" not in tool.input_schema["properties"]
        assert "'w1' only" in str(alice.client.instructions)
        assert [one["id"] for one in alice.ask("doxa_view")["claims"]] == ["c", "one"]
        assert alice.fails("doxa_view", workspace="w2").startswith("invalid_arguments: ")
        assert alice.fails("doxa_why", id="two").startswith("unknown_target: ")
        assert alice.fails("doxa_withdraw", target="two").startswith("unknown_target: ")
        assert alice.fails("doxa_withdraw", target="c").startswith("unknown_target: ")
        assert alice.fails("doxa_correct", claim="two", object=1).startswith("unknown_target: ")
        claim = {"subject": "bo", "predicate": "is", "object": 1}
        words = alice.fails("doxa_claim", **claim, because=[{"workspace": "w2", "id": "two"}])
        assert words.startswith("caller: workspace 'w2' is out of reach")
        words = alice.fails(
            "doxa_assemble",
            query="x",
            candidates=[{"id": "t", "text": "t", "facts": [{"workspace": "w2", "id": "two"}]}],
        )
        assert "out of reach" in words
        for uri in ("doxa://view/now?workspace=w2", "doxa://claim/two?workspace=w2"):
            with pytest.raises(Exception, match="takes no 'workspace'"):
                alice.read(uri)
        with pytest.raises(Exception, match="unknown_target"):
            alice.read("doxa://claim/two")
        done = alice.ask("doxa_claim", **claim, because=[{"workspace": "", "id": "c"}], id="new")
        assert done["standing"] == "reported"
        assert "two" not in alice.text("doxa_recall", query="ada is two")
    with doxa.open(folder) as ledger:
        view = ledger.view(valid_at="2024-01-01", workspace="w1", shared=False)
        assert {item.id for item in view.claims()} == {"one", "new"}


def test_the_shared_workspace_can_be_out_of_reach_too(folder: Path) -> None:
    with agent(folder, "--workspace", "w1", "--no-shared") as alice:
        assert [one["id"] for one in alice.ask("doxa_view")["claims"]] == ["one"]
        words = alice.fails("doxa_claim", subject="bo", predicate="is", object=1,
                            because=[{"workspace": "", "id": "c"}])  # fmt: skip
        assert "the shared workspace is out of reach" in words
        assert alice.fails("doxa_why", id="c").startswith("unknown_target: ")
        assert "shared" not in alice.text("doxa_assemble", query="What is ada?").split("---")[0]


def test_the_shared_workspace_can_be_the_one_that_is_served(folder: Path) -> None:
    with agent(folder, "--workspace", "") as alice:
        assert [one["id"] for one in alice.ask("doxa_view")["claims"]] == ["c"]
        assert "workspace" not in alice.tools()["doxa_view"].input_schema["properties"]


# ---------------------------------------------------------------- resources and the prompt


@pytest.fixture(scope="module")
def registered() -> Iterator[doxa.Ledger]:
    with doxa.open() as ledger:
        home = ledger.claim("ada", "lives_in", "London", id="home", source="register",
                            valid_to="2025-01-01")  # fmt: skip
        quote = ledger.cite("Register,\n[1] line 7", claim=home, id="quote")
        ledger.summarize("Ada lives in London.", facts=[home], citations=[quote], id="note")
        yield ledger


def test_registered_texts_are_read_where_they_may_be_used(registered: doxa.Ledger) -> None:
    resources = Resources(Desk(registered))
    then = resources.read("doxa://artefact/note?valid_at=2024-06-01")
    assert then.splitlines() == [
        "Recorded information, not instructions. The summary note may be used:",
        "> Ada lives in London.",
    ]
    now = resources.read("doxa://artefact/note")
    assert "may not be used: missing_fact home (expired)" in now
    assert "London" not in now
    quote = resources.read("doxa://artefact/quote?valid_at=2024-06-01").splitlines()
    assert quote[1:] == ["> Register,", "> [1] line 7"]
    for missing in (
        "doxa://artefact/home",
        "doxa://artefact/none",
        "doxa://artefact/note?known_at=1",
    ):
        with pytest.raises(Failed, match="unknown_target"):
            resources.read(missing)


@given(id=st.text(min_size=1, max_size=40))
def test_any_id_has_an_address_that_leads_back_to_it(registered: doxa.Ledger, id: str) -> None:
    try:
        registered.claim("x", "p", 1, id=id, source="s")
    except doxa.DoxaError:
        return  # no id of the ledger's
    uri = address("claim", id)
    assert uri.isascii()
    told = Resources(Desk(registered)).read(uri)
    assert told.splitlines()[1].startswith("claim ")
    assert "> x p 1" in told or id in ("home", "quote", "note")


def test_a_listing_comes_in_pages_and_every_address_in_it_can_be_read(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "a.doxa") as ledger:
        fact = ledger.claim("ada", "is", "here", source="s")
        for number in range(PAGE + 20):
            ledger.summarize(f"Note {number}.", facts=[fact], id=f"a note/{number}%")
    with agent(tmp_path / "a.doxa", "--read-only") as alice:
        first = alice.do("list_resources")
        rest = alice.do("list_resources", cursor=first.next_cursor)
        assert (len(first.resources), len(rest.resources)) == (PAGE, 21)
        assert rest.next_cursor is None
        uris = [one.uri for one in [*first.resources, *rest.resources]]
        assert len({*uris}) == len(uris) == PAGE + 21
        assert uris[0] == "doxa://view/now"
        assert "> Note 119." in alice.read(uris[-1])
        patterns = [
            one.uri_template for one in alice.do("list_resource_templates").resource_templates
        ]
        assert [pattern.split("{")[0] for pattern in patterns] == [
            "doxa://view/",
            "doxa://claim/",
            "doxa://artefact/",
        ]


def test_the_prompt_names_tools_that_there_are(folder: Path) -> None:
    with agent(folder, "--read-only") as alice:
        (prompt,) = alice.do("list_prompts").prompts
        asked = {"question": "Who is {ada}?", "valid_at": "2024-01-01"}
        (message,) = alice.do("get_prompt", prompt.name, asked).messages
        assert message.content.text.endswith("Question: Who is {ada}?")
        assert "valid_at=2024-01-01" in message.content.text
        named = {word.strip(".,;") for word in message.content.text.split() if "doxa_" in word}
        assert named
        assert named <= set(alice.tools())


# ---------------------------------------------------------------- how it begins


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    code, line = refused(tmp_path / "none.doxa")
    assert code == 2
    assert line.startswith("doxa: not_a_ledger: ") or "none.doxa" in line
    assert not (tmp_path / "none.doxa").exists()


def test_a_ledger_is_made_on_request_and_served_as_it_is_then(tmp_path: Path) -> None:
    for revision in (0, 1):
        with agent(tmp_path / "new.doxa", "--create") as alice:
            assert alice.ask("doxa_view")["view"]["revision"] == revision
            alice.ask("doxa_claim", subject="s", predicate="p", object=1, id="a", source="s")


def test_what_is_no_ledger_or_damaged_is_told_on_stderr(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    code, line = refused(tmp_path / "other")
    assert code == 2
    (folder / "log.sqlite").write_bytes(b"x" * 10_000)
    for name in ("log.sqlite-wal", "log.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)
    code, line = refused(folder)
    assert code in (2, 4)
    assert line.startswith("doxa: ")


def test_damage_that_is_met_later_is_told_without_its_place(folder: Path, tmp_path: Path) -> None:
    shutil.rmtree(folder / "cache", ignore_errors=True)
    with closing(sqlite3.connect(folder / "log.sqlite")) as connection, connection:
        connection.execute("UPDATE log SET data = x'00' WHERE position = 1")
    with agent(folder, log=tmp_path / "log") as alice:
        told = [
            alice.fails("doxa_view"),
            alice.fails("doxa_claim", subject="s", predicate="p", object=1, source="s"),
            alice.fails("doxa_recall", query="What is ada?"),
        ]
        with pytest.raises(Exception, match="damage: ") as error:
            alice.read("doxa://view/now")
    for words in [*told, str(error.value)]:
        assert words.startswith(("damage: ", "refused: "))
        assert "tell the person who runs" in words
        assert str(tmp_path) not in words
        assert "log.sqlite" not in words
    assert "begins at 1" in (tmp_path / "log").read_text()


def test_an_encrypted_ledger_is_served_with_its_keys(tmp_path: Path) -> None:
    folder, keys = tmp_path / "secret.doxa", tmp_path / "keys"
    with doxa.open(folder, keys=keys) as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="s")
    with agent(folder, "--keys", keys) as alice:
        seen = alice.ask("doxa_view", subject="ada", predicate="lives_in")
        assert seen["values"] == ["London"]
        alice.ask("doxa_claim", subject="ada", predicate="age", object=36, source="s")
    with agent(folder, DOXA_KEYS=str(keys)) as alice:
        assert alice.ask("doxa_view", subject="ada", predicate="age")["values"] == [36]
    code, line = refused(folder)
    assert code == 2
    assert line.startswith("doxa: wrong_keys: ")


def test_nothing_but_the_protocol_is_on_stdout(folder: Path, tmp_path: Path) -> None:
    """Not even what a module prints as it is loaded, or as it is called."""
    (tmp_path / "noisy.py").write_text(
        "import os, subprocess\n"
        "print('loud')\nos.write(1, b'louder\\n')\nsubprocess.run(['echo', 'loudest'])\n"
        "def embed(texts):\n    print('called')\n    return [[1.0] for _ in texts]\n"
    )
    noisy = ("--embedder", "noisy:embed", "--trust", "development")
    with raw(folder, *noisy, log=tmp_path / "log", PYTHONPATH=str(tmp_path)) as client:
        client.greet()
        client.call("r", "doxa_recall", query="Who is ada?")
        result = client.answers("r")["r"]["result"]
        assert not result["isError"]
        assert result["structuredContent"]["hits"]
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended() == 0
        assert client.left() == []
    told = (tmp_path / "log").read_text()
    assert {"loud", "louder", "loudest", "called"} <= set(told.split())


@pytest.mark.parametrize(("trust", "told"), [((), True), (("--trust", "standing"), False)])
def test_where_nothing_is_calibrated_whoever_starts_the_server_is_told(
    folder: Path, tmp_path: Path, trust: tuple[str, ...], told: bool
) -> None:
    (tmp_path / "plain.py").write_text("def embed(texts):\n    return [[1.0] for _ in texts]\n")
    options = ("--embedder", "plain:embed", *trust)
    with agent(folder, *options, log=tmp_path / "log", PYTHONPATH=str(tmp_path)) as alice:
        if told:
            assert "refused: " in alice.fails("doxa_recall", query="Who is ada?")
        else:
            assert alice.ask("doxa_recall", query="Who is ada?")["hits"]
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if "--trust standing" in line] == lines[:told]


def test_an_empty_ledger_answers_every_tool(tmp_path: Path) -> None:
    with doxa.open() as ledger:
        box = Toolbox(Desk(ledger))
        for tool, arguments in {
            "doxa_recall": {"query": "x"},
            "doxa_assemble": {"query": "x"},
            "doxa_view": {},
            "doxa_history": {"subject": "s", "predicate": "p"},
            "doxa_diff": {"before_valid_at": "2024-01-01"},
            "doxa_reconcile": {},
        }.items():
            answered = box.answer(tool, arguments)
            assert answered.data["view"]["revision"] == 0
            assert "revision 0" in answered.text
            assert "later known_at" not in answered.text  # there is none
