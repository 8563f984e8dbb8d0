# SPDX-License-Identifier: Apache-2.0
"""Producers and workers that keep what they saw outside the server, for the kill loop."""
import hashlib
import http.client
import itertools
import random
import threading
import time

from harness import Client

LEASE_SECONDS = 2.0


def text_of(number, seed):
    """The payload's filler is made from its number, so that a reader can tell whether it is whole."""
    return hashlib.sha256(f"{seed}:{number}".encode()).hexdigest() * (1 + number % 40)


class Load:
    """Shared by all threads: the history, the numbers, where the server is just now."""

    def __init__(self, seed, queues=("a", "b", "c")):
        self.seed, self.queues = seed, queues
        self.history, self.lock = [], threading.Lock()
        self.calls, self.numbers = itertools.count(1), itertools.count(1)
        self.address = None  # None while the server is down
        self.stopping = threading.Event()
        self.producing = threading.Event()
        self.producing.set()
        self.errors = []

    def note(self, **event):
        with self.lock:
            self.history.append(event)

    def recorded(self, client, process, op, path, body, headers=None, keep=None, **fields):
        """One call, with its invoke and its end in the history. Returns the answer, or None when there was none."""
        call = next(self.calls)
        self.note(type="invoke", call=call, process=process, op=op, at=time.monotonic(), **fields)
        try:
            answer = client.post(path, body, headers=headers)
        except (OSError, http.client.HTTPException):
            self.note(type="info", call=call, process=process, op=op, at=time.monotonic())
            return None
        at = time.monotonic()
        if answer.status >= 400:  # refused, also while stopping or full: nothing was done, by contract
            self.note(type="fail", call=call, process=process, op=op, at=at)
        else:
            self.note(type="ok", call=call, process=process, op=op, at=at, **(keep(answer) if keep else {}))
        return answer


def produce(load, name):
    rng = random.Random(f"{load.seed}:{name}")
    while not load.stopping.is_set():
        if not load.producing.wait(0.1) or load.address is None:
            load.stopping.wait(0.01)
            continue
        client = Client(load.address)
        number = next(load.numbers)
        body = {"payload": {"n": number, "text": text_of(number, load.seed)}, "max_attempts": 8,
                "retry": {"base": "10ms", "factor": 2, "cap": "200ms", "jitter": 0.5}, "lease": "2s"}
        if rng.random() < 0.2:
            body["delay"] = rng.choice(["1ms", "50ms", "300ms"])
        if rng.random() < 0.2:
            body["priority"] = rng.randint(-5, 5)
        if rng.random() < 0.15:
            body["group"] = f"g{rng.randint(1, 3)}"
        # Every second producer retries an unanswered enqueue under its Idempotency-Key until it has an answer.
        headers = {"Idempotency-Key": f"{name}-{number}"} if rng.random() < 0.5 else None
        path = f"/v1/queues/{rng.choice(load.queues)}/jobs"
        while not load.stopping.is_set():
            answer = load.recorded(client, name, "enqueue", path, body, headers,
                                   keep=lambda a: {"job": a.json["id"]}, number=number)
            if answer is not None or headers is None:
                break
            load.stopping.wait(0.05)
            if load.address:
                client = Client(load.address)
        client.close()


def work(load, name):
    rng = random.Random(f"{load.seed}:{name}")
    client = None
    while not load.stopping.is_set():
        if load.address is None:
            load.stopping.wait(0.01)
            continue
        if client is None or client.address != load.address:
            client = Client(load.address)
        found = []

        def keep(answer):
            for job in answer.json["jobs"]:
                payload = job["payload"]
                found.append({"job": job["id"], "attempt": job["attempt"], "number": payload["n"],
                              "hash_ok": payload["text"] == text_of(payload["n"], load.seed),
                              "max_attempts": job["max_attempts"], "token": job["lease_token"]})
            return {"jobs": [{k: v for k, v in job.items() if k != "token"} for job in found]}

        load.recorded(client, name, "claim", "/v1/claim",
                      {"queues": list(load.queues), "max": rng.choice([1, 1, 4]), "wait": "200ms",
                       "lease": f"{int(LEASE_SECONDS)}s", "worker_id": name}, keep=keep, lease=LEASE_SECONDS)
        for job in found:
            draw = rng.random()
            op = "ack" if draw < 0.7 else "fail" if draw < 0.85 else "release" if draw < 0.93 else None
            if op is None:
                continue  # the worker dies with the job: the lease runs out
            body = {"lease_token": job["token"]}
            if op == "fail":
                body["error"] = {"class": "connection", "message": "chosen to fail"}
            answer = load.recorded(client, name, op, f"/v1/jobs/{job['job']}/{op}", body, job=job["job"],
                                   attempt=job["attempt"])
            if answer is None and op == "ack" and load.address:  # the reply was lost: repeat, as clients do
                client = Client(load.address)
                load.recorded(client, name, op, f"/v1/jobs/{job['job']}/{op}", body, job=job["job"],
                              attempt=job["attempt"])


def run_guarded(load, target, name):
    try:
        target(load, name)
    except Exception as problem:  # a thread that dies silently would make the run prove nothing
        load.errors.append(f"{name}: {problem!r}")
        raise


def start(load, producers, workers):
    threads = [threading.Thread(target=run_guarded, args=(load, produce, f"p{i}"), daemon=True) for i in range(producers)]
    threads += [threading.Thread(target=run_guarded, args=(load, work, f"w{i}"), daemon=True) for i in range(workers)]
    for thread in threads:
        thread.start()
    return threads


def ledger(client, queues):
    """Every job that the server still has, by pages."""
    jobs = {}
    for queue in queues:
        cursor = ""
        while True:
            page = client.get(f"/v1/jobs?queue={queue}&limit=500" + (f"&cursor={cursor}" if cursor else "")).json
            for job in page["jobs"]:
                jobs[job["id"]] = {"status": job["status"], "attempt": job["attempts"],
                                   "max_attempts": job["max_attempts"], "number": None}
            cursor = page.get("next_cursor")
            if not cursor:
                break
    return jobs
