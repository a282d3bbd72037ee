"""The table of docs/reliability.md."""

from collections import Counter
from pathlib import Path
from types import ModuleType

import accion as ac
from tests.bad_input.count import Count
from tests.bad_input.judge import HANG, OWN, RAW, RESULT, TAKEN

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- bad input -->", "<!-- end -->"
KINDS = (RESULT, OWN, TAKEN, RAW, HANG)

# Without arguments; what other functions return; classes of errors and of warnings.
NOT_TRIED = {
    *("LeftRectangle", "RightRectangle", "Midpoint", "Trapezoid"),
    *("ConnectFailed", "OptimizeFailed", "ReplayMisses", "SecondLawViolated", "StepFailed"),
    *("StepTooLarge", "Untranslatable", "Interrupted", "NoChecksums", "NotLocked", "StoreBusy"),
    "BarelyHeld",
}
ROOMS: dict[str, ModuleType] = {"analysis": ac.analysis, "campaign": ac.campaign}


def public_names() -> list[str]:
    """The functions and classes of `accion`, and the functions of its rooms."""
    own = [
        name
        for name, value in vars(ac).items()
        if name[0] != "_" and getattr(value, "__module__", "").startswith("accion.")
    ]
    rooms = [
        f"{room}.{name}"
        for room, module in ROOMS.items()
        for name, value in vars(module).items()
        if name[0].islower() and callable(value)
    ]
    return [*own, *rooms]


def room_of(name: str) -> str:
    """Under which head of the table a door is counted."""
    head = name.split(",")[0].split(".")[0]
    match head:
        case "simulate" | "ensemble" | "connect" | "project" | "reference" | "accelerations":
            return "runs: simulate, ensemble, connect, reference, ..."
        case "a run":
            return "runs of systems with wrong functions"
        case "discrete":
            return "functions of discrete"
        case "Trajectory" | "load" | "symbolic" | "thermo":
            return "results: save, load, plot, symbolic, thermo"
        case "analysis":
            return "analysis"
        case "campaign" | "formation" | "Formation":
            return "campaigns and formations"
        case "ControlProblem" | "CanonicalSystem" | "optimize" | "Solution" | "control":
            return "control"
        case "Feedback" | "Run" | "Receding":
            return "control"
    return "spaces, systems, methods"


def table(found: Count) -> str:
    """The counts by room, in Markdown."""
    rooms: dict[str, Counter[str]] = {}
    for name, counts in found.doors.items():
        rooms.setdefault(room_of(name), Counter()).update(counts)
    heads = ("calls", "results", "own errors", "taken", "raw errors", "hangs")
    lines = [f"| | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    for room, counts in [*sorted(rooms.items()), ("all", sum(rooms.values(), Counter()))]:
        numbers = [counts.total(), *(counts[kind] for kind in KINDS)]
        lines.append(f"| {room} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def write(found: Count, command: str) -> None:
    """Put the counts into the page, between the marks."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = f"{BEGIN}\n\nBy `{command}`:\n\n{table(found)}\n\n{END}"
    PAGE.write_text(before + made + after)
