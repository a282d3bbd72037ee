"""Coefficients of symmetric compositions: by which parts of a step a symmetric method of order two
becomes one of a higher order.
"""

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np


class Coefficients(NamedTuple):
    """A set: parts gamma_1, gamma_2, ... of a step, outermost first, up to the one in the middle,
    which is what is left of 1. Written with more digits than a float has.
    """

    order: int
    half: tuple[str, ...]

    @property
    def stages(self) -> int:
        return 2 * len(self.half) + 1


# Of those of one order, the first is the one that is taken where none is named: of these the most
# accurate at equal cost, on Kepler's problem (e = 0.3, one period).
SETS = {
    "Suzuki 4": Coefficients(4, ("0.41449077179437573714235406286076",) * 2),
    "Yoshida 4": Coefficients(4, ("1.3512071919596576340476878089714598",)),
    "Sofroniou-Spaletta 6": Coefficients(
        6,
        (
            "0.13861930854051695245808013042625",
            "0.13346562851074760407046858832209",
            "0.13070531011449225190542755785015",
            "0.12961893756907034772505366537091",
            "-0.35000324893920896516170830911323",
            "0.11805530653002387170273438954049",
        ),
    ),
    "Kahan-Li 6a": Coefficients(
        6,
        (
            "0.39216144400731413927925056",
            "0.33259913678935943859974864",
            "-0.70624617255763935980996482",
            "0.08221359629355080023149045",
        ),
    ),
    "Yoshida 6A": Coefficients(
        6,
        (
            "0.78451361047755726381949763",
            "0.23557321335935813368479318",
            "-1.17767998417887100694641568",
        ),
    ),
    "Kahan-Li 8a": Coefficients(
        8,
        (
            "0.13020248308889008087881763",
            "0.56116298177510838456196441",
            "-0.38947496264484728640807860",
            "0.15884190655515560089621075",
            "-0.39590389413323757733623154",
            "0.18453964097831570709183254",
            "0.25837438768632204729397911",
            "0.29501172360931029887096624",
        ),
    ),
    "Suzuki-Umeno 8": Coefficients(
        8,
        (
            "0.74167036435061295344822780",
            "-0.40910082580003159399730010",
            "0.19075471029623837995387626",
            "-0.57386247111608226665638773",
            "0.29906418130365592384446354",
            "0.33462491824529818378495798",
            "0.31529309239676659663205666",
        ),
    ),
    "Sofroniou-Spaletta 10": Coefficients(
        10,
        (
            "0.078795722521686419263907679337684",
            "0.31309610341510852776481247192647",
            "0.027918383235078066109520273275299",
            "-0.22959284159390709415121339679655",
            "0.13096206107716486317465685927961",
            "-0.26973340565451071434460973222411",
            "0.074973343155891435666137105641410",
            "0.11199342399981020488957508073640",
            "0.36613344954622675119314812353150",
            "-0.39910563013603589787862981058340",
            "0.10308739852747107731580277001372",
            "0.41143087395589023782070411897608",
            "-0.0048663605831352617621956593099771",
            "-0.39203335370863990644808193642610",
            "0.051942502962449647037182904015976",
            "0.050665090759924496335874344156866",
            "0.049674370639729879054568800279461",
        ),
    ),
}
ORDERS = tuple(sorted({each.order for each in SETS.values()}))


def named(order: int) -> list[str]:
    """The names of the sets of an order."""
    return [name for name, each in SETS.items() if each.order == order]


@cache
def parts(name: str) -> tuple[float, ...]:
    """The parts of a step of a set, in their order; their sum is 1 exactly.

    They are multiples of a power of two such that each of them is a float, and so is every sum of
    neighbours: the inner times of a step are exact, too, and the last one is its end.
    """
    half = [Fraction(text) for text in SETS[name].half]
    middle = 1 - 2 * sum(half)
    unit = 2 ** (53 if all(abs(part) < 1 for part in (*half, middle)) else 52)
    rounded = [Fraction(round(part * unit), unit) for part in half]
    return tuple(map(float, (*rounded, 1 - 2 * sum(rounded), *reversed(rounded))))


@cache
def reach(name: str) -> float:
    """How long a step may be, in units of the time in which something decays, so that it still
    decays: the first x at which prod_i (1 - gamma_i x/2) / (1 + gamma_i x/2) is as large as 1.
    """
    gamma = np.array(parts(name))[:, None]
    x = np.linspace(0.0, 2 / -np.min(gamma), 100_001)[1:-1]
    grown = np.abs(np.prod((1 - gamma * x / 2) / (1 + gamma * x / 2), axis=0)) >= 1
    return float(x[np.argmax(grown)])
