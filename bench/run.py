# SPDX-License-Identifier: Apache-2.0
"""Runs the drivers, prints a table, and writes docs/benchmarks.md when asked. See script/bench --help."""
import datetime
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def median_of(samples):
    """Medians of every number that the runs share."""
    return {key: statistics.median(s[key] for s in samples) for key in samples[0]}


class Server:
    def __init__(self, build, folder):
        self.process = subprocess.Popen([build / "weir", "serve", "--data", folder, "--listen", "127.0.0.1:0",
                                         "--probe-listen", "", "--log-format", "json"], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            fact = json.loads(line) if line.startswith("{") else {}
            if fact.get("message") == "listening":
                self.address = fact["address"]
                return
        sys.exit("the server did not start")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_mib(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * 4096 / 2**20

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=120)


def engine(build, repeats, waiting, jobs, in_flight, payload):
    samples = []
    for _ in range(repeats):
        folder = tempfile.mkdtemp(prefix="weir-bench-")
        try:
            samples.append(run(build / "bench/engine_load", folder + "/data", waiting, jobs, in_flight, payload))
        finally:
            shutil.rmtree(folder)
    return median_of(samples)


def restart(build, repeats, waiting, payload):
    folder = tempfile.mkdtemp(prefix="weir-bench-")
    try:
        return run(build / "bench/restart_time", folder + "/data", waiting, payload, repeats)
    finally:
        shutil.rmtree(folder)


def http(build, repeats, shape, connections, jobs, payload, waiting=0):
    samples = []
    for _ in range(repeats):
        folder = tempfile.mkdtemp(prefix="weir-bench-")
        server = Server(build, folder + "/data")
        try:
            if waiting:
                run(build / "bench/http_load", server.address, "fill", 4, waiting, payload)
            before = server.cpu_seconds()
            got = run(build / "bench/http_load", server.address, shape, connections, jobs, payload)
            got["cpu_us_per_job"] = (server.cpu_seconds() - before) * 1e6 / got["jobs"]
            got["rss_mib"] = server.rss_mib()
            samples.append(got)
        finally:
            server.stop()
            shutil.rmtree(folder)
    return median_of(samples)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    quick, write = "--quick" in sys.argv, "--write" in sys.argv
    repeats = 1 if quick else 3
    depths = (1_000, 100_000) if quick else (1_000, 1_000_000)
    engine_rows = []
    for waiting in depths:
        for payload in (100, 1024):
            for in_flight, jobs in ((1, 1_000), (512, 50_000 if quick else 300_000)):
                got = engine(build, repeats, waiting, jobs, in_flight, payload)
                engine_rows.append([f"{waiting:,}", str(payload), str(in_flight), f"{got['jobs_per_s']:,.0f}",
                                    f"{got['cpu_us_per_job']:.2f}", f"{got['put_p50_us']:.0f} / {got['put_p99_us']:.0f}",
                                    f"{got['bytes_per_job']:.0f}", f"{got['rss_bytes_per_waiting']:.0f}",
                                    f"{got['first_claim_after_restart_s']:.3f}"])
                print(" ".join(engine_rows[-1]), flush=True)
    restart_rows = []
    for waiting, payload in ((100_000, 100), (100_000, 1024)) if quick else ((1_000_000, 100), (1_000_000, 1024),
                                                                             (10_000_000, 100)):
        got = restart(build, repeats, waiting, payload)
        restart_rows.append([f"{waiting:,}", str(payload), f"{got['log_bytes'] / 2**20:,.0f}", f"{got['first_claim_s']:.2f}"])
        print(" ".join(restart_rows[-1]), flush=True)
    http_rows = []
    for shape, connections, jobs in (("enqueue", 1, 2_000), ("enqueue", 64, 20_000 if quick else 100_000),
                                     ("cycle", 64, 10_000 if quick else 40_000),
                                     ("batch", 64, 100_000 if quick else 500_000)):
        for payload in (100, 1024):
            got = http(build, repeats, shape, connections, jobs, payload)
            http_rows.append([shape, str(connections), str(payload), f"{got['jobs_per_s']:,.0f}",
                              f"{got['cpu_us_per_job']:.1f}", f"{got['p50_us']:,.0f} / {got['p99_us']:,.0f}",
                              f"{got['rss_mib']:.0f}"])
            print(" ".join(http_rows[-1]), flush=True)
    text = f"""# Benchmarks

Measured by `script/bench{' --quick' if quick else ''}` on {datetime.date.today()}: {os.cpu_count()} cores
({processor()}), Linux {platform.release()}, weir {subprocess.run([build / 'weir', 'version'], capture_output=True, text=True).stdout.split()[-1]};
medians of {repeats} run(s), driver and server on the same cores, `durability = "sync"`: every answered write is on disk.
Absolute rates depend on the machine and its disk; CPU per job and bytes per job are the steady figures.

## Engine with the journal, in process

Whole life cycles (enqueue, claim, ack) with so many jobs waiting besides. CPU includes the driver. Put is from submit to the
durable answer.

{table(["waiting", "payload B", "in flight", "jobs/s", "CPU µs/job", "put p50/p99 µs", "bytes/job", "RSS B/waiting job", "restart to first claim s"], engine_rows)}

The RSS column counts index, payload cache (64 MiB) and allocator slack together.

## Restart

From the start of a server that was killed to its first claim.

{table(["waiting", "payload B", "log MiB", "s"], restart_rows)}

## HTTP door

Keep-alive connections with one request in flight each. `enqueue`: one job a request. `cycle`: enqueue, claim and ack, one job a
request. `batch`: the same with 100 jobs a request.

{table(["shape", "connections", "payload B", "jobs/s", "server CPU µs/job", "request p50/p99 µs", "RSS MiB"], http_rows)}
"""
    print("\n" + text)
    if write:
        (ROOT / "docs/benchmarks.md").write_text(text)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


if __name__ == "__main__":
    main()
