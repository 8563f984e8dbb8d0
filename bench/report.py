# SPDX-License-Identifier: Apache-2.0
"""Tables for people: the goals, the comparison, what weir promises alone. Text in, text out."""
import peers
import shapes
import stats


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def number(value, digits=2):
    """Three significant digits where that is enough, whole numbers with commas above a hundred."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}" if abs(value) < 10 else f"{value:.1f}"


def micros(value):
    return "–" if value is None else f"{value:,.0f}"


def goals_table(judged):
    rows = [[goal.text, goal.bound, number(value), "**" + verdict + "**" if verdict == "not met" else verdict]
            for goal, value, verdict in judged]
    return table(["goal", "bound", "measured", ""], rows)


HEAD = ["", "jobs/s", "lowest – highest", "weir is", "CPU µs/job", "put p50 / p99 µs", "put to ack p50 / p99 µs", "peak MiB",
        "written B/job", "device B/job"]


def row(title, found, is_filled):
    """`is_filled`: jobs wait before those that are put, so that from put to ack says nothing."""
    times = found.get("weir_is_times")
    return [title, number(found["jobs_per_s"]),
            f"{number(found['jobs_per_s_lowest'])} – {number(found['jobs_per_s_highest'])}",
            "" if times is None else f"{number(times)} ×", number(found["cpu_us_per_job"]),
            f"{micros(found['put_p50_us'])} / {micros(found['put_p99_us'])}",
            "–" if is_filled else f"{micros(found['put_to_ack_p50_us'])} / {micros(found['put_to_ack_p99_us'])}",
            number(found["rss_mib"]), micros(found["written_per_job"]), micros(found["device_per_job"])]


def comparison(runs):
    """One table a cell: weir first, then the peers as they stand in peers.py."""
    parts = []
    everyone = [peers.WEIR, *peers.PEERS]
    for shape in shapes.SHAPES:
        for payload in shapes.PAYLOADS:
            cell = shapes.Cell(shape.name, payload)
            rows = [row(("**weir, sync**" if peer is peers.WEIR else peer.title) + (" (durable)" if peer.durable and
                        peer is not peers.WEIR else ""), found, shape.waiting > 0)
                    for peer in everyone if (found := stats.summary(runs, peer.name, cell.key))]
            if rows:
                parts.append(f"### {shape.title}, {payload} B\n\n{table(HEAD, rows)}")
    return "\n\n".join(parts)


def short_comparison(runs, cell):
    """The README's table: one cell, the fastest peer last."""
    rows = []
    for peer in (peers.WEIR, *peers.PEERS):
        found = stats.summary(runs, peer.name, cell)
        if found:
            times = found.get("weir_is_times")
            rows.append((times or 0, [peer.title, "yes" if peer.durable else "no", number(found["jobs_per_s"]),
                                      "" if times is None else f"{number(times)} ×", number(found["cpu_us_per_job"]),
                                      f"{micros(found['put_p50_us'])} / {micros(found['put_p99_us'])}"]))
    ours, others = rows[:1], sorted(rows[1:], key=lambda pair: -pair[0])
    return table(["", "answered = on disk", "jobs/s", "weir is", "server CPU µs/job", "put p50 / p99 µs"],
                 [cells for _, cells in ours + others])


BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def replaced(text, inside):
    """`text` with what stands between the marks replaced."""
    head, _, rest = text.partition(BEGIN)
    _, mark, tail = rest.partition(END)
    if not mark:
        raise ValueError("the page has no marks for the benchmark")
    return f"{head}{BEGIN}\n{inside}\n{END}{tail}"


OWN_TITLES = (
    ("http-echo", "bare echo, 64 connections"), ("http-enqueue", "weir, enqueue one a request"),
    ("http-batch", "weir, whole life cycles, 100 a request"), ("flat-empty", "empty server"),
    ("flat-polls", "5,000 long polls on 1,000 queues"), ("flat-queues", "10,000 queues"),
    ("flat-scheduled", "1 M scheduled jobs"), ("flat-waiting", "1 M waiting"), ("flat-waiting-10m", "10 M waiting"),
    ("clean-idle", "1 connection, 1 in flight, idle server"), ("clean-busy", "the same while the log is cleaned"),
)


def own(runs):
    rows = []
    for cell, title in OWN_TITLES:
        found = stats.summary(runs, stats.SUBJECT, cell)
        if found:
            rows.append([title, number(found["jobs_per_s"]),
                         f"{number(found['jobs_per_s_lowest'])} – {number(found['jobs_per_s_highest'])}",
                         number(found["cpu_us_per_job"]), f"{micros(found.get('put_p50_us'))} / {micros(found.get('put_p99_us'))}",
                         number(found.get("first_claim_s"), 3)])
    head = ["", "jobs/s (echo: requests/s)", "lowest – highest", "CPU µs/job", "put p50 / p99 µs",
            "restart to first claim s"]
    return table(head, rows) if rows else ""


def versions_line(versions):
    return "; ".join(f"{name} {version}" for name, version in versions.items())
