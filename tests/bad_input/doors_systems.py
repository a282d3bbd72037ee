"""Where and what: spaces, systems, methods."""

import jax.numpy as jnp
import numpy as np
import sympy as sp

import accion as ac
from tests.bad_input import systems as own
from tests.bad_input.doors import Door

BASIS = np.array([[[0.0, -1.0], [1.0, 0.0]]])
COMPUTED = ("a class", "a function")  # numbers that may be functions of params
SYMBOLS = sp.symbols("x y")


def tau(xi):
    return jnp.array([[jnp.cos(xi[0]), -jnp.sin(xi[0])], [jnp.sin(xi[0]), jnp.cos(xi[0])]])


def tau_inverse(g):
    return jnp.arctan2(g[1, 0], g[0, 0])[None]


def own_retraction(tau, inverse, tangent):
    return ac.SO2(retraction=ac.Retraction(tau, inverse, tangent))


def psi(h, q0, q1):
    return [(1.0, 0.5, 0.5 * (q0 + q1), (q1 - q0) / h)]


def potential(t, q, params):
    return 0.5 * q @ q


def hamiltonian(t, q, p, params):
    return 0.5 * p @ p + jnp.cos(q[0])


def weight(t, params):
    return jnp.exp(-0.1 * t)


def magnetic(q, params):
    return jnp.array([-q[1], q[0]])


def positions(t, q, params):
    return q[None]


def forces(t, r, u, params):
    return -0.1 * u


def velocity_potential(t, q, v, params):
    return 0.1 * q[0] * v[1]


def pose(t, q, params):
    return jnp.array([q[0], q[1], 0.0])


def dissipation(t, q, v, params):
    return 0.05 * v @ v


def rho(t, h, q0, q1, S0, S1, params):
    return -jnp.exp((S0 + S1) / 2) * (S1 - S0) + 0.2 * (q1 - q0) @ (q1 - q0) / h


def variational(t, q, params):
    return jnp.array([[-q[0], 1.0]])


def heat(t, q, v, S, params):
    return 0.1 * jnp.ones_like(S)


def joined(factors):
    return ac.Product(*factors) if isinstance(factors, tuple | list) else ac.Product(factors)


def from_sympy(expr, coordinates, params, velocities, t, space, name, force):
    return ac.from_sympy(
        expr, coordinates, params, velocities=velocities, t=t, space=space, name=name, force=force
    )


def sphere(radius):
    return ac.System(own.L, own.PLANE, own.PARAMS, holonomic=ac.sphere(radius))


def rayleigh(dissipation):
    return ac.System(own.L, own.PLANE, own.PARAMS, force=ac.rayleigh(dissipation))


def rigid_body(mass, inertia, pose, space):
    return ac.particles(
        None, None, None, 2, bodies=[ac.rigid_body(mass, inertia, pose, space=space)]
    )


def spaces() -> list[Door]:
    names = {"n": ("Euclidean", "Torus", "degrees of freedom")}
    doors = [
        Door("Euclidean", ac.Euclidean, {"n": 2, "compensated": True}, names),
        Door("Torus", ac.Torus, {"n": 2, "compensated": True}, names),
        Door("MatrixGroup", ac.MatrixGroup, {"basis": BASIS, "retraction": "exp"}),
        Door("Product", joined, {"factors": (own.PLANE, ac.SO3())}, {"factors": ("Product",)}),
        Door("Retraction", own_retraction, {"tau": tau, "inverse": tau_inverse, "tangent": None}),
    ]
    doors += [
        Door(kind.__name__, kind, {"retraction": "exp"})
        for kind in (ac.SO2, ac.SO3, ac.SE2, ac.SE3)
    ]
    plane, turn = own.PLANE, ac.SO3()
    pair = ac.Product(plane, turn)
    g = np.eye(3)
    for space, q, v in ((plane, own.Q, own.V), (turn, g, np.array([0.1, 0.2, 0.3]))):
        name = type(space).__name__
        doors += [
            Door(f"{name}.check", space.check, {"q": q}),
            Door(f"{name}.retract", space.retract, {"q": q, "eta": v}),
            Door(f"{name}.local", space.local, {"q0": q, "q1": q}),
        ]
    doors.append(Door("Product.check", pair.check, {"q": (own.Q, g)}))
    doors.append(Door("Product.retract", pair.retract, {"q": (own.Q, g), "eta": np.zeros(5)}))
    return doors


def systems() -> list[Door]:
    rest = {"coordinates": ("x [m]", "y [m]"), "name": "own"}
    common = {"space": own.PLANE, "params": own.PARAMS, **rest}
    # more or fewer entropies than the functions are written for
    shapes = ("lagrangian", "friction", "heat", "kinematic")
    words = {"lagrangian": ("Lagrangian",), "coordinates": ("names",), "entropies": shapes}
    first = {
        "lagrangian": own.L,
        **common,
        "force": own.force,
        "holonomic": None,
        "nonholonomic": own.kappa,
        "variational": variational,
        "vakonomic": None,
    }
    return [
        Door("System", ac.System, first, words, often=3.0),
        Door(
            "ThermalSystem",
            ac.ThermalSystem,
            {
                "lagrangian": own.thermal_L,
                **common,
                "friction": own.friction,
                "external": None,
                "heat": heat,
                "holonomic": None,
                "nonholonomic": None,
                "variational": None,
                "entropies": None,
            },
            words,
            often=2.0,
        ),
        Door(
            "ContactSystem",
            ac.ContactSystem,
            {"lagrangian": own.contact_L, **common, "force": own.contact_force},
            words,
        ),
        Door(
            "HigherOrderSystem",
            ac.HigherOrderSystem,
            {"lagrangian": own.higher_L, **common, "order": 2, "force": None, "vakonomic": None},
            words | {"order": ("lagrangian",)},
        ),
        Door("first_order", ac.first_order, {"system": own.system("higher")}),
        Door(
            "DiscreteSystem",
            ac.DiscreteSystem,
            {
                "lagrangian": own.Ld,
                **common,
                "order": 1,
                "work": own.work,
                "constraint": None,
                "variational": None,
            },
            words | {"lagrangian": ("Ld",), "order": ("lagrangian",)},
        ),
        Door(
            "DiscreteThermalSystem",
            ac.DiscreteThermalSystem,
            {
                "lagrangian": own.thermal_Ld,
                **common,
                "kinematic": rho,
                "friction": None,
                "external": None,
                "entropies": None,
            },
            words | {"lagrangian": ("Ld",)},
        ),
    ]


def makers() -> list[Door]:
    x, y = SYMBOLS
    dx, dy = sp.symbols("dx dy")
    made = {
        "expr": (dx**2 + dy**2) / 2 - x**2,
        "coordinates": [x, y],
        "params": {},
        "velocities": [dx, dy],
        "t": None,
        "space": None,
        "name": None,
        "force": None,
    }
    mass = {
        "mass": np.array([1.0, 2.0]),
        "potential": potential,
        "space_or_n": 2,
        "params": None,
        "weight": weight,
        "magnetic": magnetic,
        "force": None,
        "name": "own",
    }
    energy = {
        "hamiltonian": hamiltonian,
        "space": 2,
        "params": None,
        "force": None,
        "name": "own",
    }
    names = {"space_or_n": ("space", "Euclidean", "mass", "potential", "magnetic", "lagrangian")}
    points = {
        "positions": positions,
        "masses": 1.0,
        "potential": potential,
        "n": 2,
        "params": None,
        "forces": forces,
        "velocity_potential": velocity_potential,
        "bodies": (),
        "force": None,
    }
    body = {"mass": 1.0, "inertia": 0.5, "pose": pose, "space": None}
    # an index out of range is that of the whole, with the line of the function
    whole = {name: ("lagrangian", "force") for name, f in points.items() if callable(f)}
    n_words = whole | {"n": ("Euclidean", "lagrangian", "positions", "force")}
    return [
        Door("mechanical", ac.mechanical, mass, names, often=2.0, allowed={"mass": COMPUTED}),
        Door(
            "HamiltonianSystem",
            ac.HamiltonianSystem,
            energy,
            {"space": ("hamiltonian", "Euclidean", "force")},
        ),
        Door("particles", ac.particles, points, n_words, often=2.0, allowed={"masses": COMPUTED}),
        Door("rigid_body", rigid_body, body, allowed={"mass": COMPUTED, "inertia": COMPUTED}),
        # of a System, it is its force
        Door("rayleigh", rayleigh, {"dissipation": dissipation}, {"dissipation": ("force",)}),
        Door("sphere", sphere, {"radius": 1.0}),
        Door("stiefel", ac.stiefel, {"n": 3, "k": 2}),
        Door("from_sympy", from_sympy, made, {"expr": ("expression",)}),
        Door("Alpha", ac.Alpha, {"a": 0.5}, {"a": ("Alpha",)}),
        Door("FiniteDifference", ac.FiniteDifference, {"psi": psi}),
        Door("Galerkin", ac.Galerkin, {"s": 3, "quadrature": "gauss"}, {"s": ("Galerkin",)}),
        Door(
            "Composition",
            ac.Composition,
            {"method": own.MIDPOINT, "order": 4, "coefficients": None},
        ),
        Door("Adaptive", ac.Adaptive, {"method": own.MIDPOINT, "monitor": own.monitor}),
        Door("EnergyConsistent", ac.EnergyConsistent, {"method": own.MIDPOINT}),
        Door("EnergyEntropyConsistent", ac.EnergyEntropyConsistent, {"points": 8}),
    ]


def doors() -> list[Door]:
    return [*spaces(), *systems(), *makers()]
