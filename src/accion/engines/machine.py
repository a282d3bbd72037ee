"""From LLVM's intermediate language to machine code, by llvmlite.

LLVM's own passes over the text are left out: they take as long as code generation and gain nothing
on graphs that are simplified already.
"""

import ctypes
import platform
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache

import llvmlite.binding as binding

from accion.engines.deferred import Deferred
from accion.engines.operations import FROM_LIBRARY, LIBRARY, PERHAPS


@cache
def library() -> set[str]:
    """The functions of the C library that a program may call, told to LLVM by their addresses;
    their names.

    LLVM ends the process for a function that it does not find.
    """
    found = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    names: set[str] = set()
    for name in LIBRARY | FROM_LIBRARY | PERHAPS:
        with suppress(AttributeError):  # it lacks this one
            binding.add_symbol(name, ctypes.cast(found[name], ctypes.c_void_p).value)
            names.add(name)
    return names


def missing(declarations: Iterable[str]) -> list[str]:
    """The functions that a program calls and that the C library lacks."""
    called = {name.removeprefix("llvm.").removesuffix(".f64") for name in declarations}
    return sorted(called & (LIBRARY | FROM_LIBRARY) - library())


def announce(name: str, address: int) -> None:
    """Tell LLVM where a function is that programs call by this name."""
    binding.add_symbol(name, address)


@cache
def has_fma() -> bool:
    """Whether the processor computes a b + c with one rounding."""
    arm = platform.machine().lower() in ("arm64", "aarch64")
    return arm or bool(binding.get_host_cpu_features().get("fma"))


def lanes_here() -> int:
    """How many numbers a vector of this processor has best."""
    return 4 if binding.get_host_cpu_features().get("avx2") else 2


class Machine:
    """A compiled module, whose function `name`, for so many lanes, is at `address`; `deferred` are
    the functions that it calls and that are compiled when it does.
    """

    def __init__(
        self,
        text: str,
        pointers: int,
        integers: int,
        deferred: Sequence[Deferred] = (),
        name: str = "run",
        lanes: int = 1,
    ) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple()
        host = target.create_target_machine(
            opt=2,
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
        )
        module = binding.parse_assembly(text)
        module.verify()
        self.engine = binding.create_mcjit_compiler(module, host)
        self.engine.finalize_object()
        self.deferred, self.lanes = deferred, lanes
        place = self.engine.get_global_value_address
        for k, each in enumerate(deferred):
            each.stand_at(place(f"later{k}"), place(f"python{k}"))
        self.lost = ctypes.c_int64.from_address(place("lost")) if deferred else None
        types = [*[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * integers]
        self.address = self.engine.get_function_address(name)
        self.function = ctypes.CFUNCTYPE(None, *types)(self.address)

    def run(self, *args: int) -> None:
        """Run it. What was raised while one of its functions was compiled is raised here."""
        self.function(*args)
        self.check()

    def check(self) -> None:
        """Raise what was raised in a function that it calls."""
        if self.lost is not None and self.lost.value:
            self.lost.value = 0
            raise KeyboardInterrupt
        for each in self.deferred:
            each.check()
