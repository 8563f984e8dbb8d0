# SPDX-License-Identifier: Apache-2.0
"""Runs every test and adds up: the GoogleTest programs of a build, then the Python tests that drive the real binary.

The programs come from ctest's own list, so a new one is run without being named here. The last line is
"N passed, N failed"; the exit code is 0 when nothing failed and something ran.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM_SECONDS_MAX = 1200  # a program that hangs is ended and counts as failed


def programs(build):
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True)
    return [(t["name"], t["command"]) for t in json.loads(shown.stdout)["tests"]]


def run_program(name, command):
    """Returns (name, passed, failures, skipped, output, seconds)."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:abort_on_error=0", UBSAN_OPTIONS="print_stacktrace=1",
                           GTEST_OUTPUT=f"json:{report}", TMPDIR=folder)
        try:
            done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=PROGRAM_SECONDS_MAX, stdin=subprocess.DEVNULL)
            output, code = done.stdout.decode(errors="replace"), done.returncode
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace") + f"\nended after {PROGRAM_SECONDS_MAX} s"
            code = -1
        passed, failures, skipped = 0, [], 0
        if report.exists():
            for suite in json.loads(report.read_text())["testsuites"]:
                for test in suite["testsuite"]:
                    if test.get("failures"):
                        failures.append(f"{suite['name']}.{test['name']}")
                    elif test.get("result") == "SKIPPED":
                        skipped += 1
                    elif test.get("status") == "RUN":
                        passed += 1
            if code != 0 and not failures:
                failures.append("exit code %d after the tests" % code)
        elif code == 0:
            passed = 1
        else:
            failures.append("exit code %d" % code)
    return name, passed, failures, skipped, output, time.monotonic() - start


def run_programs(build, filters):
    wanted = [p for p in programs(build) if not filters or any(f in p[0] for f in filters)]
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_program, *p) for p in wanted]):
            name, ok, failures, left_out, output, seconds = done.result()
            passed, failed, skipped = passed + ok, failed + len(failures), skipped + left_out
            print(f"{'FAILED' if failures else 'ok':<7}{name:<36}{ok:>5} passed  {seconds:6.1f} s", flush=True)
            if failures:
                print(output[-20000:])
                print("failed:", *failures, sep="\n  ", flush=True)
    return passed, failed, skipped


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        Result.passed += 1


def run_python(build, filters):
    """The tests of tests/e2e, tests/tools, tools and bench: files named *_test.py."""
    os.environ["WEIR_BINARY"] = str((pathlib.Path(build) / "weir").resolve())
    sys.path.insert(0, str(ROOT / "tests"))
    failed = skipped = 0
    files = [file for pattern in ("tests/*/*_test.py", "tools/*_test.py", "bench/*_test.py") for file in sorted(ROOT.glob(pattern))]
    for file in files:
        name = f"{file.parent.name}/{file.stem}"
        if filters and not any(f in name for f in filters):
            continue
        print(f"-- {name}", flush=True)
        sys.path.insert(0, str(file.parent))
        suite = unittest.defaultTestLoader.loadTestsFromName(file.stem)
        outcome = unittest.TextTestRunner(resultclass=Result, verbosity=2, stream=sys.stdout, warnings="ignore").run(suite)
        failed += len(outcome.failures) + len(outcome.errors)
        skipped += len(outcome.skipped)
        sys.path.pop(0)
    return Result.passed, failed, skipped


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("filters", nargs="*")
    given = options.parse_args()
    a = run_programs(given.build, given.filters)
    b = run_python(given.build, given.filters)
    passed, failed, skipped = (x + y for x, y in zip(a, b))
    if passed + failed == 0:
        print("no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
