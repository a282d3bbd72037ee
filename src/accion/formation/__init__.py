"""Formations of agents: graphs, rigidity, stabilisation by distances (002 section 6), regions of attraction."""
