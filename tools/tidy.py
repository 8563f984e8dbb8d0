# SPDX-License-Identifier: Apache-2.0
"""Style as a test: who may see whom, lengths, header comments, banned words, one title a page, no machine paths.

Exceptions stand in EXCEPTIONS with their reason; the list may only shrink. `python3 tools/tidy.py` checks the tree and ends
with 1 and a line per finding when something is wrong. tools/tidy_test.py tests it with small samples.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder of src/ -> folders whose headers it may include (docs/architecture.md has the same table).
MAY_SEE = {
    "base": set(),
    "core": {"base"},
    "store": {"base", "core"},
    "store/memory": {"base", "core", "store"},
    "store/journal": {"base", "core", "store"},
    "engine": {"base", "core", "store"},
    "net": {"base"},
    "doors": {"base", "core", "engine", "store"},
    "client": {"base", "net"},
    "worker": {"base", "client", "net"},
    "config": {"base", "core"},
    "server": {"base", "core", "store", "store/memory", "store/journal", "engine", "net", "doors", "config"},
    "cli": {"base", "client", "worker", "config", "server", "net"},
}
TEST_MAY_SEE = {"engine": {"store/memory"}, "doors": {"store/memory", "net"}, "worker": {"net"}, "client": {"net"}}

# Third-party header -> the folders whose .cc files may include it.
LIBRARIES = {
    r"<boost/asio": {"net"}, r"<llhttp": {"net"}, r"<curl/": {"net"}, r"<openssl/ssl": {"net"},
    r"<spdlog/": {"base"}, r"<toml\+\+": {"config"}, r"<CLI/": {"cli"}, r"<prometheus/": {"engine"},
    r"<libpq": {"store/postgres"},
}

# Headers that no other folder includes; they may include what their folder is for.
INTERNAL_HEADERS = {"src/net/acceptor.h", "src/net/event_loop_impl.h", "src/net/http_session.h"}

BANNED = [
    (r"\bsystem_clock::now|\bsteady_clock::now|\bclock_gettime\(|[^_a-z]time\(nullptr\)", "take a Clock (base/clock.h)", {"src/base/clock.cc"}),
    (r"\bsleep_for|\busleep\(|\bnanosleep\(|[^_a-z]sleep\(", "await a step; clocks are injected", set()),
    (r"\bstd::rand\b|[^_a-z]rand\(\)|#include <random>", "use base/prng.h", set()),
    (r"\bstd::regex\b|#include <regex>", "use globs or a small parser", set()),
    (r"(?<![_a-zA-Z])assert\(", "use WEIR_ASSERT", set()),
    (r"\bthrow\b(?!\()", "return a Result", set()),
    (r"\bcatch \(", "exceptions are caught at main, the door guard and the handler guard only",
     {"src/cli/main.cc", "src/doors/http/guard.cc", "src/worker/guard.cc"}),
    (r"\bstd::cout\b|\bstd::cerr\b", "only the CLI prints", {"src/cli/"}),
    (r"\busing namespace\b", "name what you use", set()),
    (r"\[=[\],]", "list the captures", set()),
    (r"\bFIXME\b|\bXXX\b|\bHACK\b", "do it, or say TODO(kind)", set()),
    (r"\bTODO\b(?!\((release|soon|perf|port|test)\))", "TODO(kind): with kind in release, soon, perf, port, test", set()),
    (r"\bco_await\b|\bco_return\b|\bco_yield\b", "g++ 12 miscompiles coroutines", set()),
]

EXCEPTIONS = {
    # (file, rule): reason
    ("src/cli/parser.cc", r"\bcatch \("): "CLI11 reports by exceptions; they end in the one file that sees it",
}

FILE_LINES_MAX = 600
LINE_COLUMNS_MAX = 100
HEADER_COMMENT_MIN = 2  # the SPDX line and at least one line that says what the file is for


def strip_comments_and_strings(text):
    """Blanks comments and literals, keeping line numbers."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'R"([a-z]*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text)


def folder_of(path):
    """'src/core/job/x.h' -> 'core'; 'src/store/journal/x.cc' -> 'store/journal'."""
    parts = path.split("/")[1:-1]
    for size in (2, 1):
        name = "/".join(parts[:size])
        if name in MAY_SEE:
            return name
    return None


def check_includes(path, text):
    folder = folder_of(path)
    if folder is None:
        return ["%s: folder is not in the table of tools/tidy.py" % path]
    found = []
    is_test = path.endswith("_test.cc") or "/test_" in path or path.endswith("_fixture.h")
    allowed = MAY_SEE[folder] | {folder} | (TEST_MAY_SEE.get(folder, set()) if is_test else set())
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'#include "([^"]+)"', line)
        if match:
            target = folder_of("src/" + match.group(1))
            if target is not None and target not in allowed:
                found.append(f"{path}:{number}: {folder} may not see {target}")
        for pattern, folders in LIBRARIES.items():
            is_public = path.endswith(".h") and path not in INTERNAL_HEADERS
            if re.search("#include " + pattern, line) and (folder not in folders or is_public) and not is_test:
                found.append(f"{path}:{number}: {pattern} belongs into .cc files of {', '.join(folders)}")
    return found


def check_source(path, text):
    found = []
    lines = text.split("\n")
    if not lines[0].startswith("// SPDX-License-Identifier: Apache-2.0"):
        found.append(f"{path}:1: the first line is the SPDX line")
    if path.endswith(".h") and not (len(lines) > 1 and lines[1].startswith("//")):
        found.append(f"{path}:2: say what this file is for")
    if len(lines) - 1 > FILE_LINES_MAX:
        found.append(f"{path}: {len(lines) - 1} lines; split it (at most {FILE_LINES_MAX})")
    code = strip_comments_and_strings(text).split("\n")
    is_test = path.startswith("tests/") or path.endswith("_test.cc")
    for number, line in enumerate(code, 1):
        for pattern, instead, allowed in BANNED:
            if not re.search(pattern, line) or any(path.startswith(a) for a in allowed):
                continue
            if is_test and "Result" in instead:
                continue
            if (path, pattern) not in EXCEPTIONS:
                found.append(f"{path}:{number}: {line.strip()[:60]!r}: {instead}")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS_MAX and 'R"' not in text and "http" not in line and "#include" not in line:
            found.append(f"{path}:{number}: {len(line)} columns")
    return found


def check_markdown(path, text):
    titles = 0
    in_code = False
    for line in text.split("\n"):
        if line.startswith("```"):
            in_code = not in_code
        elif line.startswith("# ") and not in_code:
            titles += 1
    return [] if titles == 1 else [f"{path}: {titles} titles; a page has one"]


def check_any(path, text):
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r"/(?:home|work|root)/[a-z]", line) and not path.startswith("tools/tidy"):
            found.append(f"{path}:{number}: a machine path")
    return found


def check(files):
    """files: {path: text}. Returns the findings."""
    found = []
    for path, text in sorted(files.items()):
        found += check_any(path, text)
        if path.endswith((".h", ".cc")):
            found += check_source(path, text)
            if path.startswith("src/"):
                found += check_includes(path, text)
        elif path.endswith(".md"):
            found += check_markdown(path, text)
    return found


def tree():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\n")
    files = {}
    for name in names:
        path = ROOT / name
        if name and path.is_file() and path.suffix in {".h", ".cc", ".md", ".py", ".txt", ".toml", ".cmake", ".sh", ""}:
            try:
                files[name] = path.read_text()
            except UnicodeDecodeError:
                pass
    return files


if __name__ == "__main__":
    findings = check(tree())
    for finding in findings:
        print(finding)
    print("tidy: %d findings" % len(findings) if findings else "tidy: ok")
    sys.exit(1 if findings else 0)
