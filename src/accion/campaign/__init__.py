"""Campaigns: many simulations of one system, over tables, grids or samples of initial data and
params.
"""

from accion.campaign.moments import Moment as Moment
from accion.campaign.plans import Plan as Plan, grid as grid, sample as sample, table as table
from accion.campaign.reductions import (
    Reduction as Reduction,
    event as event,
    extrema as extrema,
    final as final,
    mean as mean,
)
from accion.campaign.running import (
    failures as failures,
    load as load,
    run as run,
    summary as summary,
    unfold as unfold,
)
