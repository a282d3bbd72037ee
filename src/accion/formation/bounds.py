"""How fast a formation can move: the bound of Colombo-Gamonal section 6.4, corrected."""

import numpy as np

from accion.formation.graph import Graph


def largest_speed(graph: Graph, d: np.ndarray, gain: float, R: float, c: float) -> float:
    """M of `Formation.largest_speed`, for the distances `d` and the largest `gain`."""

    def pull(r: float | np.ndarray) -> np.ndarray:
        return r * np.abs(r**2 - d**2)

    # r |r^2 - d^2| is largest at the end of the interval or at its one maximum in between,
    # d/sqrt(3).
    with np.errstate(over="ignore"):
        far = np.float64(2.0 * R)
        most = np.maximum(pull(far), pull(np.minimum(d / np.sqrt(3), far)))
        gradient = np.sqrt(graph.laplacian_bound() * np.sum(most**2))
        found = float(np.hypot(c, gain * c + gradient))
    if not np.isfinite(found):
        raise ValueError(f"R = {R:g} and c = {c:g} are so large that the speed has no bound.")
    return found
