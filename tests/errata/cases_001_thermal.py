"""Systems and motions that several files of tests share."""

import accion as ac
from tests.errata.forms import function, symbols

x, S = function("x"), function("S")


m, eta, lam, U0, alpha, S0, mu, nu, T_inf, S_inf = symbols(
    "m eta lam U0 alpha S0 mu nu T_inf S_inf"
)


def drag(t, q, v, S, params):
    return -params["lam"] * v


GAS = ac.thermo.IdealGas(NR=2.0, U_ref=3.0, V_ref=1.3, S_ref=0.4)
