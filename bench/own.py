# SPDX-License-Identifier: Apache-2.0
"""What weir promises without a peer: the HTTP door against a bare echo, and a rate that stays flat whatever waits besides."""
import subprocess
import time

import exported
import measure
import peers
import procs
import shapes
from compare import Load
from measure import say

HTTP_CONNECTIONS = 64
POLLERS, POLL_QUEUES = 5_000, 1_000
QUEUES = 10_000
SCHEDULED = 1_000_000
SCHEDULED_DELAY_S = 86_400
PAYLOAD = 100


class Echo:
    """The bare HTTP server of bench/echo."""

    def __init__(self, build):
        self.process = subprocess.Popen([str(build / "bench/echo")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{self.process.stdout.readline().strip()}"
        self.pid = self.process.pid

    def stop(self):
        procs.end(self.process)
        self.process.stdout.close()


class Own:
    """`runs` grows by one dict a run, all of them weir's."""

    def __init__(self, build, seconds, waiting, garbage_jobs):
        self.build, self.seconds, self.waiting, self.garbage_jobs = build, seconds, waiting, garbage_jobs
        self.runs, self.failures = [], []
        self.jobs = {}

    def record(self, number, cell, result):
        result.update(peer="weir", cell=cell, round=number, visit=0)
        self.runs.append(result)
        say(f"{number:>2}  {'weir':<22}{cell:<18}{result['jobs_per_s']:>9,.0f} jobs/s{result['cpu_us_per_job']:>9.2f} µs/job")

    # --- HTTP

    def http_round(self, number):
        for cell, shape, make in (("http-echo", "enqueue", lambda: Echo(self.build)),
                                  ("http-enqueue", "enqueue", self.start_weir), ("http-batch", "batch", self.start_weir)):
            server = make()
            address = server.address if isinstance(server, Echo) else server.http_address()
            try:
                self.http_run(address, shape, self.jobs.get(cell, 4000))
                jobs = self.jobs.setdefault(cell, self.jobs_by_rate(address, shape))
                before = procs.use_of(server.pid).cpu_s
                result = self.http_run(address, shape, jobs)
                result["cpu_us_per_job"] = (procs.use_of(server.pid).cpu_s - before) * 1e6 / result["jobs"]
                self.record(number, cell, result)
            finally:
                server.stop()

    def jobs_by_rate(self, address, shape):
        return shapes.jobs_for(self.http_run(address, shape, 10_000)["jobs_per_s"], self.seconds)

    def http_run(self, address, shape, jobs):
        return measure.plain([self.build / "bench/http_load", address, shape, HTTP_CONNECTIONS, jobs, PAYLOAD])

    def start_weir(self):
        return peers.WEIR.server(peers.WEIR, self.build)

    # --- flat

    def flat_round(self, number):
        cells = [("flat-empty", lambda server: ((), 0)), ("flat-polls", self.with_pollers), ("flat-queues", self.with_queues),
                 ("flat-scheduled", self.with_scheduled)]
        cells += [("flat-waiting" if count < 10_000_000 else "flat-waiting-10m",
                   lambda server, count=count: self.with_waiting(server, count)) for count in self.waiting]
        for cell, prepare in cells:
            server = self.start_weir()
            try:
                self.flat_run(number, cell, server, prepare)
            except measure.DriverFailed as failed:
                self.failures.append(f"{cell}: {failed}")
                say("FAILED", self.failures[-1])
            finally:
                server.stop()

    def flat_run(self, number, cell, server, prepare):
        empty = procs.resident_bytes(server.pid)
        options, waiting = prepare(server)
        filled = procs.resident_bytes(server.pid)
        load = Load(server, (*shapes.BY_NAME["many-deep"].options, "--payload", PAYLOAD, *options), waiting)
        warm = load.run(self.jobs.get("flat", 40_000) // 4)
        jobs = self.jobs.setdefault("flat", shapes.jobs_for(warm["jobs_per_s"], self.seconds))
        result = load.run(jobs)
        if waiting:
            result.update(waiting=waiting, rss_empty_bytes=empty, rss_filled_bytes=filled)
            result["first_claim_s"] = first_claim_after_restart(load)
        self.record(number, cell, result)

    # --- latency while the log is cleaned

    def clean_round(self, number):
        """One connection with one request in flight: on an idle server, and on one that moves the live tenth of its log."""
        for cell, prepare in (("clean-idle", None), ("clean-busy", self.make_garbage)):
            server = self.start_weir()
            try:
                probe = Load(server, (*shapes.BY_NAME["one"].options, "--payload", PAYLOAD), 0)
                probe.run(shapes.FIRST_JOBS)
                if prepare:
                    prepare(server)
                address = server.http_address()
                jobs = self.jobs.get("clean", shapes.FIRST_JOBS)
                before = exported.read(address)
                result = probe.run(jobs)
                after = exported.read(address)
                self.jobs.setdefault("clean", shapes.jobs_for(result["jobs_per_s"], self.seconds))
                for name in ("weir_cleaned_segments_total", "weir_snapshots_total"):
                    result[name] = after[name] - before[name]
                sync_p99 = exported.percentile(before, after, exported.SYNC_HISTOGRAM, 0.99)
                if sync_p99 is not None:
                    result["sync_p99_us"] = sync_p99 * 1e6
                self.record(number, cell, result)
                say(f"    {result['weir_cleaned_segments_total']:.0f} segments cleaned, "
                    f"{result['weir_snapshots_total']:.0f} snapshots meanwhile, put p99 {result['put_p99_us']:,} µs")
            except measure.DriverFailed as failed:
                self.failures.append(f"{cell}: {failed}")
                say("FAILED", self.failures[-1])
            finally:
                server.stop()

    def make_garbage(self, server):
        """Every tenth job of the log stays, spread evenly: nine of ten queues that were filled in turn are emptied."""
        self.fill(server, self.garbage_jobs, "--queue", "mixed", "--queues", 10)
        for queue in range(9):
            measure.plain([*server.driver(), "--producers", 0, "--consumers", 16, "--depth", 32, "--payload", PAYLOAD, "--queue",
                           f"mixed-{queue}", "--before", self.garbage_jobs, "--jobs", self.garbage_jobs // 10])

    def fill(self, server, jobs, *options):
        filled = measure.drive([*server.driver(), *shapes.FILL, "--payload", PAYLOAD, "--jobs", jobs, *options], server.pid,
                               server.folder)
        say(f"    filled with {jobs:,} at {filled['jobs_per_s']:,.0f} jobs/s")

    # Each returns options of the measured driver and how many jobs wait in its queue.

    def with_pollers(self, server):
        return ("--pollers", POLLERS, "--poll-queues", POLL_QUEUES), 0

    def with_queues(self, server):
        self.fill(server, QUEUES, "--queues", QUEUES)
        return (), 0

    def with_scheduled(self, server):
        self.fill(server, SCHEDULED, "--queue", "later", "--delay", SCHEDULED_DELAY_S)
        return (), 0

    def with_waiting(self, server, count):
        self.fill(server, count)
        return (), count


def first_claim_after_restart(load):
    """Seconds from the start of the process to a job claimed and acked, by a client that tries to connect all the time."""
    server = load.server
    server.stop_process()
    begin = time.monotonic()
    server.start()
    measure.plain([*server.driver(), "--producers", 0, "--consumers", 1, "--payload", PAYLOAD, "--jobs", 1, "--before",
                   load.waiting + load.taken, "--taken", load.taken])
    return time.monotonic() - begin
