# SPDX-License-Identifier: Apache-2.0
"""One run of a driver against a server, with what the server spent on it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import procs


class DriverFailed(Exception):
    pass


def device_of(path):
    """Major and minor number of the disk below a path, or of the whole disk of its partition."""
    number = os.stat(path).st_dev
    return os.major(number), os.minor(number)


def device_written_bytes(device, text=None):
    for line in (text or pathlib.Path("/proc/diskstats").read_text()).splitlines():
        fields = line.split()
        if (int(fields[0]), int(fields[1])) == device:
            return int(fields[9]) * 512
    return 0


def drive(command, pid, folder):
    """Runs a driver to its result line and samples the server while all connections are still open.

    Returns the driver's numbers and, per job: the server's CPU, its bytes written and the device's; and its peak memory.
    """
    device = device_of(folder)
    driver = subprocess.Popen([str(word) for word in (*command, "--hold", 1)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    line = ""
    if driver.stdout.readline() == "ready\n":
        procs.forget_peaks(pid)
        before, disk_before = procs.use_of(pid), device_written_bytes(device)
        driver.stdin.write("\n")
        driver.stdin.flush()
        line = driver.stdout.readline()
        after, disk_after = procs.use_of(pid), device_written_bytes(device)
    driver.stdin.close()
    complaint = driver.stderr.read()
    driver.stdout.close()
    driver.stderr.close()
    if driver.wait() != 0 or not line:
        raise DriverFailed(f"{' '.join(str(word) for word in command)}: {complaint.strip() or 'no result'}")
    result = json.loads(line)
    jobs = result["jobs"]
    result["cpu_us_per_job"] = (after.cpu_s - before.cpu_s) * 1e6 / jobs
    result["written_per_job"] = (after.written_bytes - before.written_bytes) / jobs
    result["device_per_job"] = (disk_after - disk_before) / jobs
    result["rss_mib"] = after.rss_peak_bytes / 2**20
    return result


def plain(command):
    """Runs a program that prints one JSON line."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise DriverFailed(f"{' '.join(str(word) for word in command)}: {done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def missing_programs(names):
    return [name for name in names if shutil.which(name) is None]
