# SPDX-License-Identifier: Apache-2.0
"""Medians, spreads and ratios of runs. A run is a dict with `peer`, `cell` (its key), `visit` (a running number of the server
starts) and the measured numbers. Nothing here reads a clock or a file."""
import statistics

SUBJECT = "weir"


def select(runs, peer, cell):
    return [run for run in runs if run["peer"] == peer and run["cell"] == cell]


def median(runs, field):
    values = [run[field] for run in runs if run.get(field) is not None]
    return statistics.median(values) if values else None


def spread(runs, field):
    """(lowest, highest), or None without runs."""
    values = [run[field] for run in runs if run.get(field) is not None]
    return (min(values), max(values)) if values else None


def neighbours(runs, visit, cell):
    """weir's runs of the cell in the visits next to `visit`: what ran just before and just after on the same machine."""
    ours = select(runs, SUBJECT, cell)
    before = [run for run in ours if run["visit"] < visit]
    after = [run for run in ours if run["visit"] > visit]
    near = [max(before, key=lambda run: run["visit"])] if before else []
    return near + ([min(after, key=lambda run: run["visit"])] if after else [])


def ratios(runs, peer, cell, field):
    """weir's number divided by the peer's, for each run of the peer, weir's being the mean of its neighbours."""
    found = []
    for run in select(runs, peer, cell):
        near = [n[field] for n in neighbours(runs, run["visit"], cell)]
        if near and run[field]:
            found.append(statistics.mean(near) / run[field])
    return found


def ratio(runs, peer, cell, field):
    found = ratios(runs, peer, cell, field)
    return statistics.median(found) if found else None


def summary(runs, peer, cell):
    """The medians of every number of a cell, with the spread of the rate and the ratios; None without runs."""
    own = select(runs, peer, cell)
    if not own:
        return None
    numbers = sorted({key for run in own for key, value in run.items()
                      if isinstance(value, (int, float)) and key not in ("visit", "round")})
    found = {key: median(own, key) for key in numbers}
    found["runs"] = len(own)
    found["jobs_per_s_lowest"], found["jobs_per_s_highest"] = spread(own, "jobs_per_s")
    if peer != SUBJECT:
        found["weir_is_times"] = ratio(runs, peer, cell, "jobs_per_s")
        found["weir_cpu_is_times"] = ratio(runs, peer, cell, "cpu_us_per_job")
    return found


def paired(runs, first, second, field):
    """Median over rounds of first's number divided by second's of the same round; both are cells of weir."""
    found = []
    for run in select(runs, SUBJECT, first):
        partner = [other for other in select(runs, SUBJECT, second) if other["round"] == run["round"]]
        if partner and partner[0].get(field):
            found.append(run[field] / partner[0][field])
    return statistics.median(found) if found else None
