"""The members of a chunk by XLA: any system, also functions that Python evaluates."""

import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import numpy as np

from accion.campaign import chunks
from accion.campaign.callbacks import callbacks_of, raised_words
from accion.campaign.chunks import Given, Members, Place, Raised
from accion.campaign.plans import digest
from accion.progress import fitting

LOCK = threading.Lock()
COMPILED: dict[Any, Any] = {}  # programs of this process, by what they are
MOST = 8  # of them at once
FIRST = 256  # steps, before it is known how long they take


class ByXla(Members):
    """Traced once, compiled when the first chunk is run, used by all threads."""

    engine = "xla"

    def __init__(self, given: Given, chunk: int) -> None:
        self.given, self.chunk, self.budget = given, chunk, FIRST
        runner, numbers, rows, *_ = given
        self.place = chunks.shapes(runner, numbers, rows)
        self.shapes = self.place.out

        def some_steps(*given: Any) -> Place:
            return chunks.some_steps(runner, *given)

        count = np.asarray(0)
        traced = jax.jit(some_steps).trace(numbers, rows, self.nowhere(), count, count)
        self.callbacks = callbacks_of(traced.jaxpr)
        self.lowered = traced.lower()

    def nowhere(self) -> Place:
        """Where a chunk begins."""
        whole = (self.chunk,)
        out = jax.tree.map(lambda a: np.zeros(whole + a.shape, a.dtype), self.place.out)
        rest: Place = jax.tree.map(
            lambda a: np.zeros(a.shape, a.dtype), self.place._replace(out=())
        )
        return rest._replace(out=out)

    @cached_property
    def text(self) -> str:
        """The program, with what it is given and the names of what it gives."""
        # What it is given too: of arguments that it does not use nothing is left in its code.
        return f"{self.lowered.as_text()}{self.lowered.in_tree}{self.lowered.out_tree}"

    @property
    def digest(self) -> str:
        """Of its code after tracing, with the constants in it, its numbers, and the functions of
        Python that it calls.
        """
        return digest(self.text.encode() + self.given.bytes + self.callbacks.text.encode())

    @cached_property
    def compiled(self) -> Any:
        """The program as machine code, shared with earlier campaigns that differ in numbers
        only.
        """
        # The code does not say which function of Python it calls.
        key = (digest(self.text.encode()), self.callbacks)
        with LOCK:
            if key not in COMPILED:
                if len(COMPILED) >= MOST:
                    COMPILED.pop(next(iter(COMPILED)))
                COMPILED[key] = self.lowered.compile()
            return COMPILED[key]

    def run(
        self, rows: list[np.ndarray], count: int, go_on: Callable[[], None]
    ) -> tuple[Any, Raised]:
        place, budget = self.nowhere(), self.budget
        raised: Raised = {}
        while int(place.member) < count:
            go_on()
            began = time.perf_counter()
            try:
                given = (self.given.numbers, rows, place, np.asarray(count), np.asarray(budget))
                place = jax.block_until_ready(self.compiled(*given))
            except jax.errors.JaxRuntimeError as error:
                words = raised_words(error)
                if words is None:
                    raise
                # Once more, with fewer steps: the first that cannot be made alone is the one.
                if budget > 1:
                    budget //= 2
                    continue
                i, k = int(place.member), int(place.step)
                raised[i] = (k, words)
                place = place._replace(member=np.asarray(i + 1), step=np.asarray(0))
                budget = self.budget
            else:
                budget = fitting(budget, time.perf_counter() - began)
                self.budget = max(budget, self.budget if raised else 1)
        return jax.tree.map(lambda a: np.asarray(a)[:count], place.out), raised
