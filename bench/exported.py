# SPDX-License-Identifier: Apache-2.0
"""What weir says of itself at /metrics: single values, and percentiles of a histogram between two readings."""
import urllib.request

SYNC_HISTOGRAM = "weir_sync_seconds"
TIMEOUT_S = 30


def read(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=TIMEOUT_S) as answer:
        return parse(answer.read().decode())


def parse(text):
    """{name with labels: value}"""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def percentile(before, after, histogram, share):
    """The upper edge of the bucket that holds the sample of that rank among those between two readings; None without samples
    or without such a histogram."""
    start = histogram + '_bucket{le="'
    edges = sorted((float(name[len(start):-2].replace("+Inf", "inf")), after[name] - before.get(name, 0)) for name in after
                   if name.startswith(start))
    total = edges[-1][1] if edges else 0
    for edge, count in edges:
        if total and count >= share * total:
            return edge
    return None
