"""Commands that ask in words, and keep the indexes that answer."""

from __future__ import annotations

from typing import Annotated

import typer

from doxa.adapters.cli import asking
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.answers import code, explain, tell
from doxa.adapters.cli.failures import DAMAGE, DONE
from doxa.adapters.cli.output import document, note, progress, record, say
from doxa.engine.calibration import Calibration
from doxa.engine.envelope import Recalled
from doxa.engine.errors import CallerError
from doxa.ledger import Ledger
from doxa.views import TruthView

__all__ = ["add_to"]


def recall(
    path: opt.Path,
    valid_at: opt.ValidAt,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="What is asked, in words.")
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(
            help="A file of questions instead, one a line; - is stdin. All are answered at one "
            "view.",
            metavar="FILE",
        ),
    ] = None,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    embedder: asking.Embedder = None,
    mode: asking.Mode = None,
    trust: asking.Trust = None,
    top_k: Annotated[
        int | None, typer.Option(help="At most so many places (10); a conflict takes one.")
    ] = None,
    in_workspace: asking.InWorkspace = None,
    subject: asking.Subject = None,
    predicate: asking.Predicate = None,
    kind: asking.Kind = None,
    standing: Annotated[
        list[str] | None,
        typer.Option(help="A standing, or any; may be repeated. Left out: what is held."),
    ] = None,
    tier: asking.Tier = None,
    layer: asking.Layer = None,
    archived: asking.Archived = False,
    profile: asking.Profile = None,
    validity_annotate: Annotated[
        bool, typer.Option("--validity-annotate", help="Say what each hit is still worth.")
    ] = False,
    freshness_from: asking.FreshnessFrom = None,
    now: asking.Now = None,
    max_age: Annotated[
        str | None,
        typer.Option(
            help="Warn if the newest is older: seconds, or such as 12h, 30d.", metavar="AGE"
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="At most so many characters, or what COUNT counts.")
    ] = None,
    count: opt.Count = None,
    pool: asking.Pool = None,
    scan_limit: asking.ScanLimit = None,
    calibration: asking.Calibration = None,
    predecessors: Annotated[
        bool, typer.Option("--predecessors", help="Name what each hit replaced (with --json).")
    ] = False,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="Judge these instead of what is found: a file, one JSON object a line, as of "
            "assemble; - is stdin.",
            metavar="FILE",
        ),
    ] = None,
    cursor: Annotated[
        str | None, typer.Option(help="Go on behind an answer: the cursor that it gave.")
    ] = None,
    rerank: asking.Rerank = None,
    judge: asking.JudgeBy = None,
    timeout: asking.Timeout = None,
    fresh: asking.Fresh = True,
    reinforce: asking.Reinforce = False,
    skip_side_effects: asking.SkipSideEffects = False,
    explained: Annotated[
        bool,
        typer.Option("--explain", help="Show how it was found, placed and judged, as tables."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The whole answer as JSON; of QUERIES one a line.")
    ] = False,
) -> int:
    """Answer a question with what may be believed.

    What is missing, and why, goes to stderr. Exit 0 if there is something to act on, 1 if it
    abstained or if nothing to act on fits in the budget, 2 if it was refused.
    """
    if (query is None) == (queries is None):
        raise CallerError("give a QUERY, or --queries: one of them")
    if queries is not None and (cursor is not None or candidates is not None):
        raise CallerError("--cursor and --candidates go with one QUERY, not with --queries")
    if explained and as_json:
        raise CallerError("give one of --explain and --json; the JSON has the trace")
    options = asking.asked(
        in_workspace=in_workspace,
        now=now,
        tier=tier,
        layer=layer,
        archived=archived,
        reinforce=reinforce,
        skip_side_effects=skip_side_effects,
        rerank=rerank,
        judge=judge,
        fresh=fresh,
        mode=mode,
        trust=trust,
        top_k=top_k,
        subject=subject,
        predicate=predicate,
        kind=kind,
        standing="any" if standing == ["any"] else standing,
        profile=profile,
        validity_annotate=validity_annotate or None,
        freshness_from=freshness_from,
        max_age=asking.seconds(max_age),
        budget=budget,
        count=opt.counter(count),
        pool=pool,
        scan_limit=scan_limit,
        calibration=calibration,
        predecessors=predecessors or None,
        timeout=timeout,
    )
    with opt.reading(path, embedder) as ledger:
        view = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
        if queries is not None:
            answers = ledger.recall_batch(opt.read_texts(queries), view=view, **options)
        else:
            assert query is not None
            given = None if candidates is None else opt.read_lines(candidates)
            options |= {"cursor": cursor, "candidates": given}
            answers = [ledger.recall(query, view=view, **options)]
        used = _calibrations(ledger, view, answers) if explained else {}
    for number, answer in enumerate(answers, 1):
        if as_json:
            document(answer.as_dict())
            continue
        if queries is not None:
            say(f"{'' if number == 1 else chr(10)}{number}. {answer.query}\n")
        tell(answer)
        if explained:
            explain(answer, used.get(answer.calibration))
    return max(map(code, answers), default=DONE)


def _calibrations(
    ledger: Ledger, view: TruthView, answers: list[Recalled]
) -> dict[str | None, Calibration]:
    """The calibrations that answers were judged by, by their ids."""
    ids = {answer.calibration for answer in answers if answer.calibration is not None}
    found = {id: ledger._in_force(view, id) for id in ids}
    return {id: one for id, one in found.items() if isinstance(one, Calibration)}


def index(path: opt.Path, embedder: asking.Embedder = None, as_json: opt.AsJson = False) -> int:
    """Bring the indexes up to the log.

    They are written into the ledger's cache: of words and, with an embedder, of vectors. Exit 4 if
    they can't be written there.
    """
    with opt.reading(path, embedder) as ledger, progress("index") as told:
        done = ledger.index(progress=told)
    record(done if as_json else {**done, "saved": bool(done["saved"])}, as_json=as_json)
    if done["saved"]:
        return DONE
    note("the indexes could not be written into the ledger's cache: see that its folder may be")
    return DAMAGE


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command()(recall)
    app.command()(index)
