# SPDX-License-Identifier: Apache-2.0
"""What a server costs: CPU, peak memory and bytes written of a process and all its descendants, read from /proc."""
import dataclasses
import os
import pathlib
import signal
import subprocess

TICKS = os.sysconf("SC_CLK_TCK")


def stat_fields(text):
    """The fields of /proc/<pid>/stat behind the command (which may hold blanks and brackets): state is field 0."""
    return text.rsplit(")", 1)[1].split()


def family(root, parents):
    """`root` and everything below it, by a map of process to parent."""
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def parents():
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = int(stat_fields((entry / "stat").read_text())[1])
            except (OSError, IndexError):
                pass  # ended meanwhile
    return found


@dataclasses.dataclass
class Use:
    cpu_s: float = 0.0
    rss_peak_bytes: int = 0
    written_bytes: int = 0


def peak_bytes(statuses):
    """Peak memory of a family by the texts of /proc/<pid>/status: the peaks of what each has for itself, and what they share
    once."""
    own, shared, files = 0, [0], [0]
    for text in statuses:
        kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in text.splitlines())
               if name in ("VmHWM", "RssShmem", "RssFile")}
        own += kib.get("VmHWM", 0) - kib.get("RssShmem", 0) - kib.get("RssFile", 0)
        shared.append(kib.get("RssShmem", 0))
        files.append(kib.get("RssFile", 0))
    return (own + max(shared) + max(files)) * 1024


def use_of(root):
    """CPU and bytes written count children that ended and were waited for; memory is that of the living."""
    total = Use()
    statuses = []
    for pid in family(root, parents()):
        try:
            fields = stat_fields(pathlib.Path(f"/proc/{pid}/stat").read_text())
            total.cpu_s += sum(int(f) for f in fields[11:15]) / TICKS
            statuses.append(pathlib.Path(f"/proc/{pid}/status").read_text())
            for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines():
                if line.startswith("write_bytes:"):
                    total.written_bytes += int(line.split()[1])
        except (OSError, IndexError):
            pass
    total.rss_peak_bytes = peak_bytes(statuses)
    return total


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def forget_peaks(root):
    """The peak of resident memory starts anew from what is resident now."""
    for pid in family(root, parents()):
        try:
            pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
        except OSError:
            pass


def end(process, patience_s=60):
    """Asks a process that we started to stop, waits, and kills it when it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
