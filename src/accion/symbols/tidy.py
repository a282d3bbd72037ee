"""Expressions in the form in which a person writes them, within a limit of time."""

import ctypes
import gc
import math
import threading
import time
from contextlib import contextmanager
from numbers import Real
from typing import Any

import sympy as sp
from sympy.simplify.fu import TR5, TR10i

TRIGONOMETRIC = (sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh)
UNFACTORED = (sp.Piecewise, sp.Abs, sp.Max, sp.Min)  # what sp.factor cannot look into
LARGE = 300  # operations beyond which it takes too long
# letters: in more of them SymPy factors for seconds, and finds nothing that is not seen at once
MANY = 8
AGAIN = 0.5  # seconds after which a deadline that did not arrive is sent again


class OutOfTime(BaseException):
    """Raised inside SymPy when its time is up.

    A BaseException, so that no handler in SymPy takes it for its own.
    """


@contextmanager
def deadline(seconds):
    """Raise OutOfTime in this thread after `seconds`, wherever it is in Python code.

    An exception that strikes where Python ignores it (in a finaliser) is lost, so it is sent again
    until the block is left; the garbage collector, whose callbacks are such places, waits
    meanwhile.
    """
    collecting = gc.isenabled()
    gc.disable()
    thread, lock, done, state = (
        threading.get_ident(),
        threading.Lock(),
        threading.Event(),
        {"fired": False},
    )

    def watch():
        wait = min(max(seconds, 0.0), threading.TIMEOUT_MAX)
        while not done.wait(wait):
            with lock:
                if not done.is_set():
                    state["fired"] = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread), ctypes.py_object(OutOfTime)
                    )
            wait = AGAIN

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        try:
            with lock:
                done.set()
        finally:
            # Where it strikes between these lines, nothing must be left that strikes again.
            done.set()
            if state["fired"]:
                settle()
            if collecting:
                gc.enable()


def settle():
    """Wait for an exception that was sent and has not arrived, so that it strikes here and not
    later.
    """
    try:
        for _ in range(1000):
            time.sleep(0)
    except OutOfTime:
        pass


class Tidy:
    """Simplification with a budget of seconds for all of its calls; `complete` is False once an
    expression was left as it was.
    """

    def __init__(self, seconds):
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, Real)
            or math.isnan(seconds)
            or seconds < 0
        ):
            raise ValueError(
                f"seconds must be a number, 0 or more (0: no simplification); got {seconds!r}."
            )
        self.left = float(seconds)
        self.complete = True

    def within(self, f, expr) -> Any:
        """f(expr), or `expr` where the time does not suffice."""
        if self.left <= 0:
            self.complete = False
            return expr
        start = time.monotonic()
        try:
            with deadline(self.left):
                return f(expr)
        except OutOfTime:
            self.complete = False
            return expr
        finally:
            self.left -= time.monotonic() - start

    def __call__(self, expr, variables=(), search=True):
        """`expr` as a sum over the monomials in `variables`, each with a simplified coefficient;
        never longer than it was.

        Without `search` only the quick rules are tried on trigonometric sums.
        """
        return self.within(lambda e: shorter(e, grouped(e, variables, search)), sp.sympify(expr))

    def solved(self, expr):
        """The solution of linear equations, as one fraction in lowest terms where that is
        shorter.
        """
        return self.within(lambda e: shorter(e, fraction(e)), sp.sympify(expr))


def grouped(expr, variables, search):
    terms = {}
    for term in sp.Add.make_args(sp.expand(expr, deep=False)):
        # A potential stays as it was written; what multiplies velocities is expanded.
        pieces = (
            sp.Add.make_args(sp.expand(term)) if variables and term.has(*variables) else (term,)
        )
        for piece in pieces:
            c, monomial = (
                piece.as_independent(*variables, as_Add=False)
                if variables
                else (piece, sp.Integer(1))
            )
            terms.setdefault(monomial, []).append(c)
    total = sp.Add(*(coefficient(sp.Add(*cs), search) * monomial for monomial, cs in terms.items()))
    return shorter(total, sp.factor_terms(total))


def coefficient(c, search=True) -> Any:
    """A coefficient, simplified: trigonometric sums joined, common factors taken out."""
    if not c.has(sp.Add):
        return c
    best = c
    if c.has(*TRIGONOMETRIC):
        best = joined(best, search)
    large = sp.count_ops(best) > LARGE or len(best.free_symbols) > MANY
    return shorter(
        best, sp.factor_terms(best) if best.has(*UNFACTORED) or large else sp.factor(best)
    )


def joined(c, search):
    """cos a cos b + sin a sin b and its like written as one; the quick rules first, SymPy's search
    only where something is left.
    """
    expanded = sp.expand(c)
    best = shorter(c, TR10i(expanded))
    best = shorter(best, sp.expand(TR5(sp.expand(best))))
    return shorter(best, sp.trigsimp(best)) if search and may_join(best) else best


def may_join(c):
    """Whether products of trigonometric functions are left in a sum, so that a search may find
    something.
    """
    parts = {
        sp.Mul(*(f for f in sp.Mul.make_args(term) if f.has(*TRIGONOMETRIC)))
        for term in sp.Add.make_args(sp.expand(c))
    }
    return len(parts) > 1 and any(part.is_Mul or part.is_Pow for part in parts)


def fraction(expr):
    """numerator / denominator without common factors, each simplified by itself."""
    if expr.has(*UNFACTORED) or sp.count_ops(expr) > 4 * LARGE:
        return expr
    numerator, denominator = sp.fraction(sp.factor(sp.together(expr)))
    return sp.factor_terms(factors(numerator)) / factors(denominator)


def factors(expr):
    return sp.Mul(*(coefficient(factor) for factor in sp.Mul.make_args(expr)))


def shorter(a, b) -> Any:
    return b if sp.count_ops(b) < sp.count_ops(a) else a
