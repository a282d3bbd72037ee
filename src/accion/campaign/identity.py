"""What a campaign is: what must be the same where it is gone on with, or run by others."""

import json
from typing import Any

from accion.campaign.makers import made_by
from accion.campaign.plans import digest
from accion.campaign.program import Program
from accion.results.same_system import params_text


def definition(program: Program) -> dict[str, Any]:
    """What must be the same for a store to be gone on with, as text and numbers."""
    job = program.job
    return {
        "system": job.system.name,
        "space": repr(job.system.space),
        "params": params_text(job.system)[:2000],
        "method": repr(job.method).split(" at 0x")[0],
        "t0": float(job.t0),
        "h": float(job.h),
        "steps": job.steps,
        "plan": job.plan.definition(),
        "reductions": [each.name for each in job.reductions],
        "results": {name: list(info.shape) for name, info in program.shapes().items()},
        "chunk": job.chunk,
        "functions": program.digest,
    }


def identity_of(program: Program) -> str:
    """A short name for a campaign here: the plan's members and the program's code and numbers are
    in it, and what it is computed by.
    """
    return digest(json.dumps([definition(program), made_by(program.engine)]).encode())


def differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """In words, what differs between two definitions."""
    words = []
    for key in here:
        a, b = there.get(key), here[key]
        if key == "plan" and isinstance(a, dict):
            words += [
                f"plan.{k}: {a.get(k)!r} there, {b.get(k)!r} here"
                for k in dict.fromkeys([*a, *b])
                if differ(a.get(k), b.get(k))
            ]
        elif key != "functions" and differ(a, b):
            words.append(f"{key}: {a!r} there, {b!r} here")
    if not words and there.get("functions") != here["functions"]:
        words.append("the functions of the system or of the reductions, or numbers in them")
    return [word if len(word) < 400 else f"{word[:400]}..." for word in words]


def differ(a: Any, b: Any) -> bool:
    """Whether two parts of definitions do; what is not a number is equal to itself."""
    return json.dumps(a) != json.dumps(b)
