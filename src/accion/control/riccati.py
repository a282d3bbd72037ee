"""Gains of least cost: Riccati's equation, algebraic and backwards in time."""

from typing import Any

import numpy as np

from accion.arguments import reals, wrong
from accion.control.linear import Linear, complement, staircase
from accion.control.problem import ControlProblem

UNMOVED = 1e-6  # of the quickest mode, below which one neither grows nor decays


def weights_of(linear: Linear, Q: Any, R: Any) -> tuple[np.ndarray, np.ndarray]:
    """Q and R as matrices."""
    count = linear.problem.control_count
    return weight(Q, len(linear.units), "Q"), weight(R, count, "R", definite=True)


def weight(given: Any, n: int, name: str, definite: bool = False) -> np.ndarray:
    """A symmetric matrix from a number, a diagonal or a matrix."""
    kind = "positive" if definite else "no negative"
    words = f"a number, {n} of them, or a symmetric matrix ({n}, {n}) with {kind} eigenvalues"
    a = np.asarray(reals(given, name, words), dtype=float)
    if a.shape not in ((), (n,), (n, n)) or not np.all(np.isfinite(a)):
        wrong(name, words, given)
    a = a if a.ndim == 2 else np.diag(np.broadcast_to(a, (n,)))
    size = np.sqrt(np.abs(np.diagonal(a)))
    size = np.where(size > 0, size, 1.0)
    even = a / np.outer(size, size)  # whatever the units
    if not np.allclose(even, even.T, rtol=0, atol=1e-12):
        wrong(name, words, given)
    least = np.min(np.linalg.eigvalsh(even), initial=np.inf)
    if least < (1e-14 if definite else -1e-10):
        wrong(name, words, given)
    return (a + a.T) / 2


def algebraic(linear: Linear, Q: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K, S) at an equilibrium."""
    from scipy.linalg import solve_continuous_are, solve_discrete_are  # takes long to import

    problem = linear.problem
    if not linear.stabilisable:
        modes = ", ".join(f"{mode:.4g}" for mode in linear.fixed_modes)
        raise ValueError(
            f"the controls of {problem.name} do not reach the modes {modes} 1/s, which do not die"
            " out: no linear feedback holds this equilibrium. linearise(problem, at=...).unreached"
            " says which directions those are."
        )
    E, inverse = linear.inside()
    Q, h, A = E.T @ Q @ E, linear.h, linear.reduced[0]
    check_seen(problem, A, Q)
    try:
        if h is None:
            B = linear.reduced[1]
            S = solve_continuous_are(A, B, Q, R)
            K = np.linalg.solve(R, B.T @ S)
        else:
            (A,), (B,) = linear.reduced_steps
            S = solve_discrete_are(A, B, h * Q, h * R)
            K = np.linalg.solve(h * R + B.T @ S @ B, B.T @ S @ A)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"Q and R: the Riccati equation of {problem.name} was not solved with them; give"
            " weights that differ by fewer powers of ten."
        ) from error
    return K @ inverse, inverse.T @ S @ inverse


def check_seen(problem: ControlProblem, A: np.ndarray, Q: np.ndarray) -> None:
    """Raise ValueError where Q is zero on a mode that neither grows nor decays: it would be left as
    it is.
    """
    unseen = complement(staircase(A.T, Q))
    modes = np.linalg.eigvals(unseen.T @ A.T @ unseen)
    size = np.max(np.abs(np.linalg.eigvals(A)), initial=0.0)
    if np.any(np.abs(modes.real) <= UNMOVED * size):
        raise ValueError(
            f"Q does not see a mode of {problem.name} that neither grows nor decays: give Q"
            " positive numbers for all of the state."
        )


def backwards(
    linear: Linear, Q: np.ndarray, R: np.ndarray, Qf: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(K, S) along a solution: S_N = Qf and, step by step,

    K_k = (h R + Gamma^T S Gamma)^-1 Gamma^T S Phi
    S_k = h Q + K^T h R K + (Phi - Gamma K)^T S (Phi - Gamma K)
    """
    steps, lengths = linear.reduced_steps, np.diff(linear.about.t)
    E, inverse = linear.inside(-1)
    S = E.T @ Qf @ E
    gains, costs = [], [inverse.T @ S @ inverse]
    for k in range(len(lengths) - 1, -1, -1):
        (E, inverse), h = linear.inside(k), lengths[k]
        A, B = steps[0][k], steps[1][k]
        K = np.linalg.solve(h * R + B.T @ S @ B, B.T @ S @ A)
        closed = A - B @ K
        S = h * (E.T @ Q @ E + K.T @ R @ K) + closed.T @ S @ closed
        S = (S + S.T) / 2
        gains.append(K @ inverse)
        costs.append(inverse.T @ S @ inverse)
    return np.stack(gains[::-1]), np.stack(costs[::-1])
