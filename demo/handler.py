#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo's exec handler: reads a JSON payload on stdin, works, and says by its exit code how it went.

0 done · 75 try again · 65 the payload can't be decoded · anything else failed, retried by the rules.
Before it works it looks into its own dedupe file: deliveries are at-least-once, so a handler must know its repeats.
"""
import fcntl
import json
import os
import sys
import time

FOLDER = os.environ["DEMO_FOLDER"]


def once(key):
    """True the first time a key is seen. The lock makes check and note one step."""
    with open(os.path.join(FOLDER, "processed"), "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if key in file.read().split():
            return False
        file.write(key + "\n")
        return True


def main():
    try:
        job = json.load(sys.stdin)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 65
    task, attempt = job["task"], int(os.environ["WEIR_ATTEMPT"])
    if task == "charge-card" and attempt == 1:
        print("card service answered 503", file=sys.stderr)
        return 75
    if task == "sync-legacy":
        print("legacy system refuses the connection", file=sys.stderr)
        return 1
    if not once(f"{task}:{job.get('n', '')}"):
        print(f"already processed, skipping {task} (job {os.environ['WEIR_JOB_ID']})")
        return 0
    time.sleep(job.get("takes", 0))
    print(f"done {task}" + (f" {job['n']}" if "n" in job else ""))
    return 0


sys.exit(main())
