# SPDX-License-Identifier: Apache-2.0
"""The engine with the journal in process, and the HTTP door in several shapes: weir's own tables, without a peer beside it."""
import pathlib
import shutil
import statistics
import tempfile

import peers
import procs
from measure import plain, say
from report import table

ENGINE_HEAD = ["waiting", "payload B", "in flight", "jobs/s", "CPU µs/job", "put p50/p99 µs", "bytes/job",
               "RSS B/waiting job", "restart to first claim s"]
RESTART_HEAD = ["waiting", "payload B", "log MiB", "s"]
HTTP_HEAD = ["shape", "connections", "payload B", "jobs/s", "server CPU µs/job", "request p50/p99 µs", "RSS MiB"]


def median_of(samples):
    """Medians of every number that the runs share."""
    return {key: statistics.median(s[key] for s in samples) for key in samples[0]}


def engine(build, repeats, waiting, jobs, in_flight, payload):
    samples = []
    for _ in range(repeats):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-bench-"))
        try:
            samples.append(plain([build / "bench/engine_load", folder / "data", waiting, jobs, in_flight, payload]))
        finally:
            shutil.rmtree(folder)
    return median_of(samples)


def restart(build, repeats, waiting, payload):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-bench-"))
    try:
        return plain([build / "bench/restart_time", folder / "data", waiting, payload, repeats])
    finally:
        shutil.rmtree(folder)


def http(build, repeats, shape, connections, jobs, payload):
    samples = []
    for _ in range(repeats):
        server = peers.WEIR.server(peers.WEIR, build)
        try:
            before = procs.use_of(server.pid).cpu_s
            got = plain([build / "bench/http_load", server.http_address(), shape, connections, jobs, payload])
            got["cpu_us_per_job"] = (procs.use_of(server.pid).cpu_s - before) * 1e6 / got["jobs"]
            got["rss_mib"] = procs.resident_bytes(server.pid) / 2**20
            samples.append(got)
        finally:
            server.stop()
    return median_of(samples)


def engine_table(build, repeats):
    rows = []
    for waiting in (1_000, 1_000_000):
        for payload in (100, 1024):
            for in_flight, jobs in ((1, 1_000), (512, 300_000)):
                got = engine(build, repeats, waiting, jobs, in_flight, payload)
                rows.append([f"{waiting:,}", str(payload), str(in_flight), f"{got['jobs_per_s']:,.0f}",
                             f"{got['cpu_us_per_job']:.2f}", f"{got['put_p50_us']:.0f} / {got['put_p99_us']:.0f}",
                             f"{got['bytes_per_job']:.0f}", f"{got['rss_bytes_per_waiting']:.0f}",
                             f"{got['first_claim_after_restart_s']:.3f}"])
                say("    engine", " ".join(rows[-1]))
    return table(ENGINE_HEAD, rows)


def restart_table(build, repeats):
    rows = []
    for waiting, payload in ((1_000_000, 100), (1_000_000, 1024), (10_000_000, 100)):
        got = restart(build, repeats, waiting, payload)
        rows.append([f"{waiting:,}", str(payload), f"{got['log_bytes'] / 2**20:,.0f}", f"{got['first_claim_s']:.2f}"])
        say("    restart", " ".join(rows[-1]))
    return table(RESTART_HEAD, rows)


def http_table(build, repeats):
    rows = []
    for shape, connections, jobs in (("enqueue", 1, 2_000), ("enqueue", 64, 100_000), ("cycle", 64, 40_000),
                                     ("batch", 64, 500_000)):
        for payload in (100, 1024):
            got = http(build, repeats, shape, connections, jobs, payload)
            rows.append([shape, str(connections), str(payload), f"{got['jobs_per_s']:,.0f}", f"{got['cpu_us_per_job']:.1f}",
                         f"{got['p50_us']:,.0f} / {got['p99_us']:,.0f}", f"{got['rss_mib']:.0f}"])
            say("    http", " ".join(rows[-1]))
    return table(HTTP_HEAD, rows)
