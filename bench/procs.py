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


def use_of(root):
    """CPU counts children that ended and were waited for; memory and bytes written are those of the living."""
    total = Use()
    for pid in family(root, parents()):
        try:
            fields = stat_fields(pathlib.Path(f"/proc/{pid}/stat").read_text())
            total.cpu_s += sum(int(f) for f in fields[11:15]) / TICKS
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    total.rss_peak_bytes += int(line.split()[1]) * 1024
            for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines():
                if line.startswith("write_bytes:"):
                    total.written_bytes += int(line.split()[1])
        except (OSError, IndexError):
            pass
    return total


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
