"""What accion asks of JAX, once, at import.

float64. In float32 Newton's iteration stalls above the roundoff that the conservation laws need.

One function for a loop. XLA on a CPU pays for each operation that it dispatches, unless it may
compile a small loop into one function; the loops of mechanics are just above its default size (1
KiB touched in each turn). With a limit of 1 MiB a step of the double pendulum takes about a fifth
of the time (`benchmarks/step_cost.py`), and compiles faster. XLA reads the option when the first
JAX computation of the process runs, so `import accion` must come before it; later, results are the
same, only slower.

Each fused operation by LLVM alone. XLA's newer way through MLIR takes half of what there is to
compile again, and the programs of mechanics run no faster for it. The option is one of those that a
jaxlib which does not know it passes over.

Compiled programs are kept. Compilation is most of what a short program waits for, so JAX's
persistent cache is on: a program that ran before on this machine is loaded and not compiled again,
to the same bits (`benchmarks/first_call.py`). It lies in the user's cache directory,
`accion/compiled` (in `~/.cache` or XDG_CACHE_HOME; in `~/Library/Caches` on macOS; in LOCALAPPDATA
on Windows). When a program starts, and none did within an hour, what was used longest ago is
removed until `LARGEST` bytes are left. ACCION_CACHE=0 turns it off, ACCION_CACHE=FOLDER puts it
elsewhere; where JAX's own cache was chosen or forbidden before, that choice stands. Where the
folder cannot be used (no home, not writable, another user's), or jaxlib is older than 0.10.2,
programs are compiled as if there were none.

Two things that happen later make JAX fail in its own way, or never return: float64 is switched off
again, or the process is a copy of one in which JAX had started, whose threads it does not have.
Every public function looks at both first (`check_process`).
"""

import hashlib
import os
import platform
import re
import sys
import time
import warnings
from contextlib import suppress
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path

import jax

LOOP_OPTION = "xla_cpu_small_while_loop_byte_threshold"
FUSION_OPTION = "xla_cpu_disable_new_fusion_emitters"
LARGEST = 512 * 2**20  # bytes of all that is kept; the whole gallery takes about a tenth
PAUSE = 3600.0  # seconds; to look at thousands of files takes a twentieth of a second
OFF = ("0", "off", "no", "false")
# Before this jaxlib, XLA refused on some processors of Intel what it had compiled there, with a
# line for each program, and could crash on macOS when it loaded a large one.
TRUSTED = (0, 10, 2)


def configure() -> None:
    """Set JAX up, as it is said above."""
    jax.config.update("jax_enable_x64", True)
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:  # the user's own choice stands
        options = f"{LOOP_OPTION}=1048576,{FUSION_OPTION}"
        os.environ["XLA_FLAGS"] = f"{flags} --xla_backend_extra_options={options}".strip()
    keep_compiled(cache_root())


class Process:
    """What became of this process."""

    started = False  # whether JAX had started when it was copied
    forked = False  # whether it is such a copy


def before_fork() -> None:
    # Not documented by JAX; where it is not known, it is taken to have started.
    bridge = sys.modules.get("jax._src.xla_bridge")
    asked = getattr(bridge, "backends_are_initialized", lambda: True)
    Process.started = Process.started or bool(asked())


def after_fork() -> None:
    Process.forked = Process.forked or Process.started


def check_process() -> None:
    """Raise RuntimeError where JAX cannot compute as accion needs it to."""
    if Process.forked:
        raise RuntimeError(
            "this process was forked from one in which JAX had started: its threads are not here,"
            " and a computation would never end. Start processes afresh,"
            ' multiprocessing.get_context("spawn"), or fork before the first computation.'
        )
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(
            "float64 was switched off after accion was imported, and in float32 the steps of a"
            ' motion cannot be solved: jax.config.update("jax_enable_x64", True).'
        )


def cache_root() -> Path | None:
    """The folder of everything that is kept, or None where it was chosen otherwise or there is no
    place for it.
    """
    chosen = os.environ.get("ACCION_CACHE", "")
    options = jax.config.values
    old = tuple(int(number) for number in re.findall(r"\d+", version("jaxlib"))[:3]) < TRUSTED
    forbidden = old or not options["jax_enable_compilation_cache"] or chosen.lower() in OFF
    if forbidden or options["jax_compilation_cache_dir"] is not None:
        return None
    if chosen:
        return Path(chosen).expanduser().absolute()
    home = Path(os.path.expanduser("~"))
    default = {"darwin": home / "Library" / "Caches", "win32": home / "AppData" / "Local"}.get(
        sys.platform, home / ".cache"
    )
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    folder = Path(named) if os.path.isabs(named) else default
    # "~" stays as it is where nobody's home is known
    return folder / "accion" / "compiled" if folder.is_absolute() else None


def keep_compiled(root: Path | None) -> None:
    """Let JAX keep its programs in `root`, in a folder of this machine and these versions."""
    if root is None:
        return
    folder = root / f"jaxlib-{version('jaxlib')}-accion-{version('accion')}-{machine()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What is loaded is run: only from a folder that is the user's own. Root in a user's home
        # shall not leave its files there.
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK) or (
            sys.platform != "win32" and folder.stat().st_uid != os.getuid()
        ):
            return
        if is_time(folder / "looked"):
            remove_oldest(root, LARGEST)
    except OSError:
        return  # as documented above: without a place for them, programs are compiled each time
    jax.config.update("jax_compilation_cache_dir", str(folder))
    for option, value in (
        ("jax_persistent_cache_min_compile_time_secs", 0.0),
        ("jax_persistent_cache_min_entry_size_bytes", -1),
    ):
        if option.upper() not in os.environ:
            jax.config.update(option, value)
    # A full disk, or a file that another process has not finished: JAX compiles instead, and would
    # say so for each program.
    warnings.filterwarnings(
        "ignore", message="Error (reading|writing) persistent compilation cache entry"
    )


def machine() -> str:
    """A word for the kind of processor: what is compiled for one may not run on another, and a home
    may be shared by both.

    JAX's own key of a program has the version of jaxlib and the options of XLA, but it is not
    documented to know the processor.
    """
    words = "\n".join([platform.system(), platform.machine(), *processor()])
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def processor() -> list[str]:
    """What the system says of the processor, its name first where it is known: lines with its
    features.
    """
    told: list[str] = []
    try:
        with open("/proc/cpuinfo") as lines:
            for line in takewhile(str.strip, lines):  # the first of its cores, up to the empty line
                if line.partition(":")[0].strip() in (
                    "model name",
                    "flags",
                    "Features",
                    "CPU part",
                ):
                    told.append(line)
    except OSError:
        told = [platform.processor()]
    return told


def is_time(stamp: Path) -> bool:
    """Whether this file is older than `PAUSE`, or of the future, or not there; then it is new."""
    try:
        if 0 <= time.time() - stamp.stat().st_mtime < PAUSE:
            return False
    except FileNotFoundError:
        pass  # nobody has looked yet
    stamp.touch(mode=0o600)
    return True


def remove_oldest(root: Path, largest: int) -> None:
    """Remove what was used longest ago until the files under `root` have `largest` bytes; and empty
    ones, which a killed program left.
    """
    files: list[tuple[float, int, str]] = []  # (when it was used, bytes, where it is)
    for folder in root.glob("jaxlib-*"):
        for entry in os.scandir(folder):
            try:
                found = entry.stat()
            except FileNotFoundError:
                continue  # another process removes them too
            if entry.name.endswith("-cache"):
                used = max(found.st_atime, found.st_mtime) if found.st_size else 0.0
                files.append((used, found.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= largest and size:
            break
        # another process removed it, or reads it on a system that then refuses
        with suppress(OSError):
            os.unlink(path)
        total -= size


configure()
if sys.platform != "win32":  # where there is no fork
    os.register_at_fork(before=before_fork, after_in_child=after_fork)
