"""Motion on groups: the continuous equations, the discrete ones, what they keep, and the comparison
with generalized-alpha."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import campaign
from tests.spaces.test_groups import SO3_BASIS
from tests.stepping.group_motion_cases import top

CHARTS = [
    ac.SO2("cayley"),
    ac.SO3("cayley"),
    ac.SE2("cayley"),
    ac.SE3("cayley"),
    ac.MatrixGroup(SO3_BASIS, "cayley"),
]


@pytest.mark.parametrize("space", CHARTS, ids=str)
def test_the_turn_that_a_step_by_cayley_asks_for(space):
    """Its momenta are dtau^-1(x)^T dL/dv: along x they are (1 + |x|^2/4) times as large, which is x
    itself under dtau^-1.
    """
    turn = 1 if space.size == 2 or space == ac.SE2("cayley") else 3
    x = np.zeros(space.dim)
    x[:turn] = 0.6 * np.array([0.3, -0.8, 0.5])[:turn]
    stretched = space.stretched(jnp.asarray(x))
    np.testing.assert_allclose(
        stretched[:turn], space.dtau_inverse(jnp.asarray(x), jnp.asarray(x))[:turn], rtol=1e-13
    )
    for size, inside in ((3.13, True), (3.15, False)):
        y = jnp.asarray(size * x / np.linalg.norm(x))
        assert bool(space.within(y)) == inside
        assert (space.beyond(y) is None) == inside
    assert re.match(
        "one step .*the chart of the retraction cayley ends at .*half a turn", space.beyond(y)
    )


def test_the_chart_of_a_product_is_that_of_its_factors():
    space = ac.Product(ac.Euclidean(2), ac.SE3("cayley"), ac.SO2())
    far = np.zeros(9)
    far[:2], far[5:8] = 100.0, 100.0  # translations have no end
    assert bool(space.within(jnp.asarray(far)))
    assert space.beyond(far) is None
    assert ac.Product(ac.Euclidean(2), ac.Torus(1)).within(jnp.full(3, 100.0)) is True
    for i, turn, words in ((4, 3.2, "cayley ends at 3.14 rad"), (8, 6.3, "exp ends at 6.28 rad")):
        x = far.copy()
        x[i] = turn
        assert not bool(space.within(jnp.asarray(x)))
        assert words in str(space.beyond(x))
        assert words in space.chart


def test_a_step_that_leaves_the_chart_is_refused_wherever_it_is():
    """A wheel that is driven: its speed is 10 + 20 t, so steps of 0.1 turn by more than pi from the
    twelfth on. By cayley they turned by less.
    """
    wheel = ac.System(
        lambda t, g, w, p: 0.5 * w @ w, ac.SO2("cayley"), force=lambda t, g, w, p: jnp.array([20.0])
    )
    run = {"q0": np.eye(2), "h": 0.1, "steps": 12}
    words = (
        r"step 11 of 12.*one step turns by 3\.\d+ rad: the chart of the retraction cayley ends at"
        r" 3\.14 rad, half a turn"
    )
    with pytest.raises(ac.StepFailed, match=words):
        ac.simulate(wheel, ac.Midpoint(), v0=[10.0], **run)
    many = ac.ensemble(wheel, ac.Midpoint(), v0=[[1.0], [10.0]], throw=False, **run)
    assert many.success.tolist() == [True, False]
    assert many.steps_completed.tolist() == [12, 11]
    assert np.isfinite(many.q[1, :, 0, 0]).tolist() == 12 * [True] + [False]
    found = campaign.run(
        wheel,
        ac.Midpoint(),
        campaign.table({"v0": [[1.0], [10.0], [75.0]]}, q0=np.eye(2)),
        h=0.1,
        steps=12,
        progress=False,
    )
    assert found["failure"].values.tolist() == [0, 4, 1]
    assert re.search(
        r"led out of the chart.*cayley ends at 3\.14 rad.*at step 11 ", found["reason"].values[1]
    )
    assert "one step turns by 7.5 rad" in found["reason"].values[2]
    with pytest.raises(
        ValueError,
        match=r"one step turns by 7\.5 rad: the chart of the retraction cayley ends at 3\.14 rad",
    ):
        ac.simulate(
            top(ac.SO3("cayley")), ac.Midpoint(), q0=np.eye(3), v0=[0.0, 0.0, 75.0], h=0.1, steps=10
        )
