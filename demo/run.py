# SPDX-License-Identifier: Apache-2.0
"""The story of script/demo: one server, its producers and workers, a crash in the middle, and a table at the end.

Every claim of the table is checked; the exit code is 0 only when all of them hold.
"""
import base64
import collections
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BULK = 120
SECRET = "whsec_" + base64.b64encode(b"weir demo webhook secret").decode()
START = time.monotonic()


def say(who, text):
    print(f"{time.monotonic() - START:6.2f} s  {who:<9} {text}", flush=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    """A webhook receiver: checks the Standard Webhooks signature, then takes the job."""
    taken = collections.Counter()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        good = right in self.headers["webhook-signature"].split(" ")
        if good:
            Receiver.taken[json.loads(body)["task"]] += 1
            say("receiver", f"took {json.loads(body)['task']} by HTTP, signature right")
        self.send_response(204 if good else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Demo:
    def __init__(self, binary, folder):
        self.binary, self.folder = str(pathlib.Path(binary).resolve()), folder
        self.address, self.processes, self.failures = None, [], []
        self.skipped, self.retries, self.epochs = [], [], []

    # -- processes

    def start_server(self, listen="127.0.0.1:0"):
        # Its log goes to a file, so that it can outlive this script (--stay).
        with open(self.folder / "server.log", "ab") as log:
            process = subprocess.Popen([self.binary, "serve", "--data", str(self.folder / "data"), "--listen", listen,
                                        "--probe-listen", "127.0.0.1:0", "--log-format", "json"], stderr=log)
        self.processes.append(process)
        starts = len(self.epochs)
        while len(self.epochs) == starts:
            if process.poll() is not None:
                sys.exit((self.folder / "server.log").read_text())
            facts = [json.loads(line) for line in (self.folder / "server.log").read_text().splitlines()
                     if line.startswith("{") and line.endswith("}")]
            listening = [fact for fact in facts if fact.get("message") == "listening"]
            if len(listening) > starts:
                self.address = listening[-1]["address"]
                self.epochs.append(listening[-1]["epoch"])
            else:
                time.sleep(0.02)
        say("server", f"listening on {self.address}, data in {self.folder / 'data'}, epoch {self.epochs[-1]}")
        return process

    def start_worker(self, name, *arguments):
        environment = {**os.environ, "WEIR_URL": "http://" + self.address, "WEIR_WEBHOOK_SECRET": SECRET,
                       "DEMO_FOLDER": str(self.folder)}
        process = subprocess.Popen([self.binary, "work", *arguments], env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)

        def watch(stream, shown):
            for line in stream:
                if "already processed, skipping" in line:
                    self.skipped.append(line.strip())
                if any(word in line for word in shown):
                    say(name, line.strip()[:150])
        threading.Thread(target=watch, args=(process.stdout, ("skipping",)), daemon=True).start()
        threading.Thread(target=watch, args=(process.stderr, ("drain",)), daemon=True).start()
        self.processes.append(process)
        return process

    # -- calls

    def call(self, method, path, body=None, headers=None):
        host, port = self.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=70)
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else {}

    def enqueue(self, queue, body, headers=None):
        status, answer = self.call("POST", f"/v1/queues/{queue}/jobs", body, headers)
        if status not in (200, 202):
            sys.exit(f"enqueue was refused: {answer}")
        return answer

    def job(self, job_id):
        """The job once it has ended; says so when that takes long."""
        for round_number in range(12):
            job = self.call("GET", f"/v1/jobs/{job_id}?wait={'2s' if round_number == 0 else '10s'}&history=1")[1]
            if job["status"] in ("completed", "dead", "cancelled", "expired"):
                break
            say("demo", f"job {job_id} is {job['status']}: a lease from before the crash lasts at least 30 s after it")
        return job

    def cli(self, *arguments):
        done = subprocess.run([self.binary, *arguments], env={**os.environ, "WEIR_URL": "http://" + self.address},
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"weir {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def expect(self, what, holds):
        if not holds:
            self.failures.append(what)
        return "yes" if holds else "NO"

    # -- the story

    def overtaking(self):
        """A P0 comes last and goes first; a worker without pools of its own shows the order."""
        for n in range(3):
            self.enqueue("reports", {"payload": {"task": "report", "n": n}, "class": "P3"})
        self.enqueue("reports", {"payload": {"task": "page-oncall"}, "class": "P0"})
        order = []
        for _ in range(4):
            job = self.call("POST", "/v1/claim", {"queues": ["reports"], "wait": "5s"})[1]["jobs"][0]
            order.append(job["payload"]["task"])
            self.call("POST", f"/v1/jobs/{job['id']}/ack", {"lease_token": job["lease_token"]})
        say("priority", "enqueued P3 P3 P3 P0, claimed " + " ".join(order))
        return order

    def lose_a_worker(self, job_id):
        """A worker does the job, notes it in its dedupe file, and dies before the ack."""
        job = self.call("POST", "/v1/claim", {"queues": ["invoices"], "wait": "5s", "lease": "1s"})[1]["jobs"][0]
        assert job["id"] == job_id, job
        with open(self.folder / "processed", "a") as file:
            file.write("send-invoice:\n")
        say("worker", f"did send-invoice (job {job_id}, attempt {job['attempt']}) and died before its ack")

    def crash(self, server):
        ids = [self.enqueue("bulk", {"payload": {"task": "resize", "n": n, "takes": 0.02}})["id"] for n in range(BULK)]
        say("producer", f"enqueued {BULK} bulk jobs")
        while self.call("GET", "/v1/queues/bulk")[1]["counts"]["completed"] < BULK // 4:
            time.sleep(0.02)
        server.send_signal(signal.SIGKILL)
        server.wait()
        say("server", "killed with SIGKILL in mid-run")
        server = self.start_server(listen=self.address)
        counts = self.call("GET", "/v1/queues/bulk")[1]["counts"]
        say("server", "is back: " + ", ".join(f"{v} {k}" for k, v in counts.items() if v))
        return server, ids

    def run(self, stay):
        receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        server = self.start_server()
        order = self.overtaking()

        quick = {"base": "200ms", "factor": 2, "cap": "2s", "jitter": 0.3}
        ids = {}
        ids["send-welcome"] = self.enqueue("mail", {"payload": {"task": "send-welcome"}})["id"]
        ids["charge-card"] = self.enqueue("mail", {"payload": {"task": "charge-card"}, "retry": quick})["id"]
        ids["sync-legacy"] = self.enqueue("mail", {"payload": {"task": "sync-legacy"}, "retry": quick,
                                                   "max_attempts": 3})["id"]
        ids["malformed"] = self.enqueue("mail", b"{\"task\": \"import", {"Content-Type": "application/octet-stream"})["id"]
        key = {"Idempotency-Key": "order-1001"}
        first = self.enqueue("mail", {"payload": {"task": "confirm-order"}}, key)
        again = self.enqueue("mail", {"payload": {"task": "confirm-order"}}, key)
        ids["confirm-order"] = first["id"]
        say("producer", f"enqueued confirm-order twice under one Idempotency-Key: job {first['id']} and job {again['id']}")
        ids["send-invoice"] = self.enqueue("invoices", {"payload": {"task": "send-invoice"}, "lease": "1s",
                                                        "retry": quick})["id"]
        self.lose_a_worker(ids["send-invoice"])
        due = time.time() + 2
        ids["remind"] = self.enqueue("mail", {"payload": {"task": "remind"}, "delay": "2s"})["id"]
        ids["post-hook"] = self.enqueue("hooks", {"payload": {"task": "post-hook"}})["id"]
        say("producer", f"enqueued {len(ids)} tasks by HTTP; one is scheduled in 2 s")

        handler = [sys.executable, str(HERE / "handler.py")]
        environment = ("--env", "DEMO_FOLDER")
        workers = [self.start_worker("exec", "--queue", "mail,invoices,bulk", "--concurrency", "4", *environment,
                                     "--exec", *handler),
                   self.start_worker("http", "--queue", "hooks", "--concurrency", "2", "--post",
                                     f"http://127.0.0.1:{receiver.server_port}/hook")]
        self.job(ids["send-invoice"])  # its lease of 1 s ends while this server lives
        server, bulk = self.crash(server)

        jobs = {task: self.job(job_id) for task, job_id in ids.items()}
        done = [self.job(job_id) for job_id in bulk]
        table = self.table(ids, jobs, done, order, again["id"], due)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            self.expect("workers drain and leave with 0", worker.wait(timeout=60) == 0)
        dead = self.cli("dead", "ls", "mail")
        print("\n" + table + "\n\nthe dead letters, as `weir dead ls mail` shows them:\n" + dead)
        if stay:
            print(f"the server stays at http://{self.address} (process {server.pid}); stop it with: kill {server.pid}")
        else:
            server.send_signal(signal.SIGTERM)
            self.expect("the server stops with 0", server.wait(timeout=60) == 0)

    def table(self, ids, jobs, bulk, order, second_id, due):
        rows = [("task", "job", "status", "attempts", "what happened")]
        for task, job in jobs.items():
            attempts = job["attempts"]
            told = ""
            if task == "charge-card":
                history = job["history"]
                waited = self.seconds(history[1]["started_at"]) - self.seconds(history[0]["ended_at"])
                told = f"failed once, retried after {waited * 1000:.0f} ms (200 ms + jitter)"
                self.expect("charge-card completed at attempt 2", job["status"] == "completed" and attempts == 2)
            elif task == "sync-legacy":
                told = f"dead letter: {job['reason']}"
                self.expect("sync-legacy died after 3 attempts", job["status"] == "dead" and attempts == 3)
            elif task == "malformed":
                told = f"dead letter: {job['reason']}"
                self.expect("malformed died at once as deserialization", job["status"] == "dead" and attempts == 1
                            and job["reason"].startswith("deserialization: "))
            elif task == "confirm-order":
                told = f"enqueued twice, both times job {second_id}"
                self.expect("one job for one Idempotency-Key", second_id == ids[task] and job["status"] == "completed")
            elif task == "send-invoice":
                told = f"delivered {attempts} times, skipped {len(self.skipped)} time(s)"
                self.expect("send-invoice was delivered twice and done once",
                            job["status"] == "completed" and attempts == 2
                            and any("send-invoice" in line for line in self.skipped))
            elif task == "remind":
                late = self.seconds(job["claimed_at"]) - due
                told = f"scheduled; started {late * 1000:.0f} ms after its time"
                self.expect("remind was not early", job["status"] == "completed" and late > -0.05)
            elif task == "post-hook":
                told = f"delivered by HTTP, {Receiver.taken['post-hook']} time(s)"
                self.expect("post-hook came by HTTP", job["status"] == "completed" and Receiver.taken["post-hook"] >= 1)
            else:
                self.expect(f"{task} completed", job["status"] == "completed")
            rows.append((task, job["id"], job["status"], str(attempts), told))
        completed = sum(1 for job in bulk if job["status"] == "completed")
        repeats = sum(1 for job in bulk if job["attempts"] > 1)
        skipped = sum(1 for line in self.skipped if "resize" in line)
        with open(self.folder / "processed") as file:
            lines = [line for line in file.read().split() if line.startswith("resize:")]
        rows.append((f"resize x {BULK}", f"{bulk[0]['id']}…", "completed", "",
                     f"{completed} of {BULK} completed over a kill -9; {len(lines)} done once each, {repeats} delivered "
                     f"again, {skipped} of them skipped"))
        self.expect("no bulk job was lost", completed == BULK)
        self.expect("no bulk job was done twice", len(lines) == len(set(lines)) == BULK)
        rows.append(("page-oncall", "", "completed", "1", "P0 enqueued last, claimed first: " + " ".join(order)))
        self.expect("P0 went first", order[0] == "page-oncall")
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    @staticmethod
    def seconds(text):
        import datetime
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

    def end(self, stay):
        for process in self.processes:
            if process.poll() is None and not (stay and not self.failures):
                process.kill()


def main():
    stay = "--stay" in sys.argv[2:]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-demo-"))
    demo = Demo(sys.argv[1], folder)
    try:
        demo.run(stay)
    finally:
        demo.end(stay)
        if not stay:
            shutil.rmtree(folder, ignore_errors=True)
    if demo.failures:
        print("not as promised: " + "; ".join(demo.failures))
        return 1
    print("nothing was lost, nothing was done twice.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
