"""Functions of a native program that are compiled when they are first called."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any

import numpy as np

from accion.engines.errors import Unsupported

FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Deferred:
    """A function from numbers to numbers in memory, 64 bits each, behind an address.

    The address is at first that of a function of Python, which compiles the true one, calls it and
    puts its address in the place of its own. Where it cannot be compiled it is carried out by
    `otherwise`.
    """

    def __init__(
        self, compile: Callable[[], Any], otherwise: Callable[[np.ndarray], np.ndarray], sizes: Any
    ) -> None:
        self.compile, self.otherwise, self.sizes = compile, otherwise, sizes
        self.code: Any = None
        self.tried = False
        self.error: BaseException | None = None
        self.lock = Lock()
        self.first = FUNCTION(self.called)

    def stand_at(self, cell: int, python: int) -> None:
        """The address of the true function goes to the memory at `cell`, that of the one of Python
        to that at `python`.
        """
        self.cell = ctypes.c_void_p.from_address(cell)
        first = ctypes.c_void_p.from_address(python)
        first.value = ctypes.cast(self.first, ctypes.c_void_p).value

    def check(self) -> None:
        """Raise what was raised in a call, or in one inside it: nothing can be raised through
        machine code.
        """
        error, self.error = self.error, None
        if error is not None:
            raise error
        if self.code is not None:
            self.code.check()

    def called(self, given: int, found: int) -> None:
        """The function, until it is compiled."""
        count, results = self.sizes
        try:
            if self.is_compiled():
                self.code.run(given, found)
                return
            memory(found, results)[:] = self.otherwise(memory(given, count).copy())
        except BaseException as error:
            self.error = error
            memory(found, results)[:] = np.nan

    def is_compiled(self) -> bool:
        """Whether there is machine code, which is made if this was not tried before."""
        with self.lock:
            if not self.tried:
                with suppress(Unsupported):
                    self.code = self.compile()
                    self.cell.value = self.code.address
                # Not where it was interrupted: the next call tries again.
                self.tried = True
        return self.code is not None


def memory(address: int, count: int) -> np.ndarray:
    """So many numbers at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))
