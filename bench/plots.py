"""The pictures of the page about performance, as SVG on a light ground."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from doxa.bench.measuring import Finding
from doxa.bench.report import PLOTS, amount, size_name

__all__ = ["draw"]

OURS, THEIRS, INK, FAINT = "#1f6f8b", "#b9770e", "#222222", "#dddddd"
GROWN: Final = {
    "point": "point",
    "slice_early": "early slice",
    "slice_large": "large slice",
    "assemble": "assembly",
    "withdraw": "withdrawal",
    "stale": "stale summary",
    "append_one": "durable commit",
    "open": "open",
}


def draw(findings: list[Finding], folder: Path) -> None:
    """Draws the pictures into a folder, which is made."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "doxa",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 11,
            "text.color": INK,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": FAINT,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.facecolor": "white",
            "axes.facecolor": "white",
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    pictures: tuple[Callable[[list[Finding]], Any], ...] = (_ratios, _growth, _peers)
    for name, picture in zip(PLOTS, pictures, strict=True):
        figure = picture(findings)
        figure.tight_layout()
        figure.savefig(
            folder / name,
            format="svg",
            bbox_inches="tight",
            metadata={"Date": None, "Creator": "doxa"},
        )
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text("\n".join(map(str.rstrip, text.splitlines())) + "\n", "utf-8")


def _figure(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, height))
    return figure, figure.subplots()


def _ratios(findings: list[Finding]) -> Any:
    """How doxa's median stands to each contender's, at the largest size."""
    last: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        if not finding.measure.startswith("peer_"):
            for ours, theirs in finding.contenders():
                key = (finding.measure, ours, theirs)
                if finding.series[ours].unit != "s":
                    continue
                if key not in last or last[key].size < finding.size:
                    last[key] = finding
    ratios = [
        (f"{measure}{ours[4:]} ÷ {theirs}, {size_name(f.size)}", f.ratio(ours, theirs))
        for (measure, ours, theirs), f in last.items()
    ]
    ratios.sort(key=lambda item: -item[1])
    figure, axes = _figure(1.6 + 0.34 * len(ratios))
    axes.set_title("doxa's time ÷ the contender's (left of 1: doxa is faster)", loc="left")
    for place, (_, ratio) in enumerate(ratios):
        colour = OURS if ratio <= 1 else THEIRS
        axes.plot([1, ratio], [place, place], color=colour, linewidth=2)
        axes.plot(ratio, place, "o", color=colour)
        axes.annotate(
            amount(ratio, ""),
            (ratio, place),
            xytext=(-8 if ratio <= 1 else 8, 0),
            textcoords="offset points",
            ha="right" if ratio <= 1 else "left",
            va="center",
        )
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: amount(value, ""))
    axes.margins(x=0.15)
    axes.set_yticks(range(len(ratios)), [label for label, _ in ratios])
    axes.set_ylim(-0.7, max(1, len(ratios)) - 0.3)
    axes.grid(axis="y", visible=False)
    return figure


def _growth(findings: list[Finding]) -> Any:
    """doxa's medians over the sizes."""
    figure, axes = _figure(5.5)
    axes.set_title("Median time by the length of the history", loc="left")
    sizes: set[int] = set()
    styles = ("-", "--", "-.", ":")
    for place, (measure, label) in enumerate(GROWN.items()):
        found = sorted((f.size, f.series["doxa"].median) for f in findings if f.measure == measure)
        if not found:
            continue
        sizes |= {size for size, _ in found}
        axes.plot(*zip(*found, strict=True), styles[place % 4], marker="o", label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sorted(sizes), [f"{size_name(size)} events" for size in sorted(sizes)])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: amount(value))
    if sizes:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure


def _peers(findings: list[Finding]) -> Any:
    """doxa and each peer, side by side, for every question put to peers."""
    found = [
        (f"{f.measure[5:]}, {theirs}, {size_name(f.size)}", f.series[ours], f.series[theirs])
        for f in findings
        if f.measure.startswith("peer_")
        for ours, theirs in f.contenders()
        if f.series[ours].unit == "s"
    ]
    found.sort(key=lambda item: item[0], reverse=True)
    figure, axes = _figure(1.6 + 0.32 * max(3, len(found)))
    axes.set_title("Median time beside each peer, in turn, at the size that it loads", loc="left")
    for place, (_, ours, theirs) in enumerate(found):
        axes.plot([ours.median, theirs.median], [place, place], color=FAINT, linewidth=3, zorder=1)
        axes.plot(ours.median, place, "o", color=OURS, label="doxa" if not place else None)
        axes.plot(theirs.median, place, "s", color=THEIRS, label="peer" if not place else None)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: amount(value))
    axes.set_yticks(range(len(found)), [label for label, _, _ in found])
    axes.set_ylim(-0.7, max(1, len(found)) - 0.3)
    axes.grid(axis="y", visible=False)
    if found:
        axes.legend(loc="best", framealpha=1)
    else:
        axes.text(0.5, 0.5, "no peer was installed", ha="center", transform=axes.transAxes)
    return figure
