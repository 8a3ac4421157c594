#!/usr/bin/env python3
"""Lists the functions that short runs of Marvin enter, for the linker: scripts/build.rs has them laid side by side.

usage: scripts/start_order.py [BINARY]. Builds one with its symbols when none is named; wants valgrind, which says what was entered. Writes
scripts/start-order.txt. The names hold a hash of the compiler's version and of each function's type, so the list serves the compiler that
it was made with; a name that is gone does no harm, and one that is missing lies among the rest as without a list.
"""
import http.server
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALLS = [
    ("read_file", {"path": "notes.txt"}),
    ("write_file", {"path": "new.txt", "content": "one\n"}),
    ("edit_file", {"path": "notes.txt", "old_string": "two", "new_string": "three"}),
    ("code_grep", {"pattern": "one"}),
    ("run_command", {"command": "true"}),
    ("git_status", {}),
]


class Model(http.server.BaseHTTPRequestHandler):
    """Answers a request with calls, and what follows them with a word."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", b'{"data":[]}')

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = request["messages"][-1]
        if last["role"] == "user" and "calls" in str(last["content"]):
            calls = [
                {"index": at, "id": f"call{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for at, (name, arguments) in enumerate(CALLS)
            ]
            pieces = [{"delta": {"tool_calls": calls}}, {"delta": {}, "finish_reason": "tool_calls"}]
        else:
            pieces = [{"delta": {"content": "**hello**\n"}}, {"delta": {}, "finish_reason": "stop"}]
        chunks = [{"choices": [{"index": 0, **piece}]} for piece in pieces]
        chunks.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}})
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self.answer("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode())

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


# Between cargo and the compiler: a flag of cargo's that keeps the symbols would change the hashes in their names.
KEEPS_SYMBOLS = """#!/bin/sh
rustc=$1
shift
for arg; do
    shift
    [ "$arg" = strip=symbols ] && arg=strip=none
    set -- "$@" "$arg"
done
exec "$rustc" "$@"
"""


def built():
    with tempfile.TemporaryDirectory() as folder:
        wrapper = pathlib.Path(folder) / "rustc"
        wrapper.write_text(KEEPS_SYMBOLS)
        wrapper.chmod(0o755)
        # One that is stripped may be there.
        (ROOT / "src/main.rs").touch()
        subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT, env={**os.environ, "RUSTC_WRAPPER": str(wrapper)}, check=True)
    (ROOT / "src/main.rs").touch()
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "marvin"


def on_terminal(command, work, env):
    """A conversation on the full screen: a message, its answer, the key that leaves."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(work)
        os.execvpe(command[0], command, env)
    for keys in [b"say hello", b"\r", b"\x11"]:
        end = time.monotonic() + 20
        # What is shown is over when nothing comes for a while.
        while time.monotonic() < end and select.select([terminal], [], [], 2)[0]:
            os.read(terminal, 1 << 16)
        os.write(terminal, keys)
    while select.select([terminal], [], [], 60)[0]:
        try:
            os.read(terminal, 1 << 16)
        except OSError:  # Its other end is closed.
            break
    os.waitpid(pid, 0)


def entered(binary, work, env):
    names = {}  # In the order of the runs: what the first enter lies closest.

    def trace(arguments, run):
        with tempfile.NamedTemporaryFile() as counts:
            tool = ["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", "--compress-strings=no", f"--callgrind-out-file={counts.name}"]
            run([*tool, str(binary), *arguments])
            found = re.findall(r"^fn=([^'\n]+)", pathlib.Path(counts.name).read_text(), re.M)
        assert found, f"nothing of {arguments}"
        names.update(dict.fromkeys(name for name in sorted(found) if not name.startswith(("0x", "("))))

    def plainly(text="", status=0):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

        def run(command):
            ended = subprocess.run(command, cwd=work, env=env, input=text.encode(), **quiet).returncode
            assert ended == status, f"{command} ended with {ended}"

        return run

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "order", "version": "1"}}
    asked = [("initialize", hello), ("tools/list", {}), ("tools/call", {"name": "read_file", "arguments": {"path": "notes.txt"}})]
    messages = [json.dumps({"jsonrpc": "2.0", "id": at, "method": method, "params": params}) for at, (method, params) in enumerate(asked)]

    trace(["--version"], plainly())
    trace(["--non-interactive", "say hello"], plainly())
    trace(["--non-interactive", "make some calls"], plainly())
    trace(["--non-interactive", "--output-format", "stream-json", "make some calls"], plainly())
    trace(["mcp", "serve"], plainly("".join(message + "\n" for message in messages)))
    trace(["--plain"], plainly("say hello\n/exit\n"))
    trace([], lambda command: on_terminal(command, work, env))
    # Its children start from /proc/self/exe, which is valgrind here, so the run fails; most of what a run enters lies before and after them.
    trace(["--non-interactive", "--design-first", "--model", "all=any", "--working-dir", str(work), "--prompt", "count words"], plainly(status=1))
    return names


def main():
    binary = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else built()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        work = pathlib.Path(home) / "work"
        work.mkdir()
        (work / "notes.txt").write_text("one\ntwo\n")
        (work.parent / ".gitconfig").write_text("[user]\nname = Order\nemail = order@example.org\n")
        env = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "MARVIN_COPILOT_CLI": "/nonexistent",
            "OPENAI_COMPAT_URL": f"http://127.0.0.1:{server.server_port}/v1",
            "OPENAI_COMPAT_API_KEY": "none",
            "MARVIN_PROVIDER": "openai-compat",
            "MARVIN_MODEL": "any",
        }
        for arguments in [["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "Begin"]]:
            subprocess.run(["git", *arguments], cwd=work, env=env, check=True)
        names = entered(binary, work, env)
    (ROOT / "scripts/start-order.txt").write_text("".join(f"{name}\n" for name in names))
    print(f"{len(names)} functions")


if __name__ == "__main__":
    main()
