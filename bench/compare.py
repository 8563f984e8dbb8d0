# SPDX-License-Identifier: Apache-2.0
"""The comparison: in every round each peer is started, measured and ended, and weir is measured before and after it."""
import measure
import peers
import procs
import shapes
from measure import say

FIRST_SECONDS = 0.1      # a first run shorter than this says little: it is repeated with more jobs
LIMITS_ROUNDS = 500


class Comparison:
    """`runs` grows by one dict a run. The jobs of a cell are set in the first round, to take `seconds`."""

    def __init__(self, build, seconds, is_quick, shape_names):
        self.build, self.seconds, self.is_quick, self.shape_names = build, seconds, is_quick, shape_names
        self.runs, self.failures = [], []
        self.jobs = {}
        self.visit = 0

    def cells(self, peer):
        return shapes.cells_of(peer, self.shape_names, self.is_quick)

    def round(self, number, others):
        """weir between all of them, with the cells that its neighbours need, and all of its own once."""
        ours = self.cells(peers.WEIR)
        for i, peer in enumerate(others):
            before = set(self.cells(peer)) | (set(self.cells(others[i - 1])) if i else set(ours))
            self.visit_server(number, peers.WEIR, [cell for cell in ours if cell in before])
            self.visit_server(number, peer, self.cells(peer))
        last = set(self.cells(others[-1])) if others else set(ours)
        self.visit_server(number, peers.WEIR, [cell for cell in ours if cell in last])

    def visit_server(self, number, peer, cells):
        self.visit += 1
        # Each queue that is filled gets a server of its own, so that "a million waiting" is a million.
        plain = [cell for cell in cells if not shapes.BY_NAME[cell.shape].waiting]
        groups = ([plain] if plain else []) + [[cell] for cell in cells if cell not in plain]
        for group in groups:
            server = peer.server(peer, self.build)
            try:
                for cell in group:
                    self.run_cell(number, peer, server, cell)
            except measure.DriverFailed as failed:
                self.failures.append(f"{peer.name}: {failed}")
                say("FAILED", self.failures[-1])
            finally:
                server.stop()

    def run_cell(self, number, peer, server, cell):
        shape = shapes.BY_NAME[cell.shape]
        options = (*peer.options, *shape.options, "--payload", cell.payload)
        extra = {}
        if peer is peers.WEIR and cell.shape == "one":
            extra = measure.plain([self.build / "bench/limits", server.folder, LIMITS_ROUNDS])
        if shape.waiting:
            fill(peer, server, shape, cell)
        load = Load(server, options, shape.waiting)
        result = load.run(self.jobs_of(peer, load, cell))
        result.update(extra, peer=peer.name, cell=cell.key, round=number, visit=self.visit)
        self.runs.append(result)
        say(f"{number:>2}  {peer.name:<22}{cell.key:<18}{result['jobs_per_s']:>9,.0f} jobs/s"
            f"{result['cpu_us_per_job']:>9.2f} µs/job  put {result['put_p50_us']:,}/{result['put_p99_us']:,} µs")

    def jobs_of(self, peer, load, cell):
        """A short run warms the server up; the first one of a cell also sets how many jobs the others have."""
        name = (peer.name, cell)
        if name in self.jobs:
            load.run(max(100, self.jobs[name] // 20))
            return self.jobs[name]
        jobs = shapes.FIRST_JOBS
        while (first := load.run(jobs))["seconds"] < FIRST_SECONDS:
            jobs *= 5
        self.jobs[name] = shapes.jobs_for(first["jobs_per_s"], self.seconds)
        return self.jobs[name]


class Load:
    """Runs of one driver after another against one server; jobs keep their numbers apart where some wait all the time."""

    def __init__(self, server, options, waiting):
        self.server, self.options, self.waiting, self.taken = server, options, waiting, 0

    def run(self, jobs):
        apart = ("--before", self.waiting + self.taken, "--taken", self.taken) if self.waiting else ()
        result = measure.drive([*self.server.driver(), *self.options, *apart, "--jobs", jobs], self.server.pid,
                               self.server.folder)
        self.taken += jobs
        return result


def fill(peer, server, shape, cell):
    """Puts the jobs that are to wait."""
    if peer.fill_settings:
        server.settings = peer.fill_settings
        server.restart()
    command = [*server.driver(), *(peer.fill_options or peer.options), *shapes.FILL, "--payload", cell.payload, "--jobs",
               shape.waiting]
    filled = measure.drive(command, server.pid, server.folder)
    say(f"    {peer.name:<22}filled with {shape.waiting:,} at {filled['jobs_per_s']:,.0f} jobs/s")
    if peer.fill_settings:
        server.settings = peer.settings
        server.restart()
    return filled
