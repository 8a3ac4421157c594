#!/usr/bin/env python3
"""Compares Marvin as a server with the reference server for files on the same calls: how long each takes to start, and for a call.

usage: scripts/mcp_compare.py MARVIN PEERS, with the folder that scripts/mcp-peers.sh prints. Prints a Markdown table, in milliseconds.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

STARTS = 15
CALLS = 300


class Server:
    def __init__(self, command, cwd, env):
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.id = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}}
        self.ask("initialize", hello)
        self.started = time.perf_counter() - self.begun
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.id and "method" not in message:
                return message
        raise SystemExit(f"{self.process.args[0]} has ended")

    def call(self, name, arguments):
        begun = time.perf_counter()
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        took = time.perf_counter() - begun
        if "error" in answer or answer["result"].get("isError"):
            raise SystemExit(f"{name}: {answer}")
        return took

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


def main():
    marvin, peers = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder, "work")
        work.mkdir()
        for number in range(50):
            (work / f"file_{number}.txt").write_text(f"line {number}\n" * 40)
        env = {"HOME": folder, "PATH": "/usr/local/bin:/usr/bin:/bin", "MARVIN_CONFIG_DIR": f"{folder}/config"}
        modules = peers / "node_modules"
        servers = {
            "marvin mcp serve": (
                [marvin, "mcp", "serve", "--working-dir", work],
                {"read a file": ("read_file", {"path": "file_7.txt"}), "show the tree": ("tree", {"path": "."}), "write a file": ("create_file", {"path": "new.txt", "content": "new\n"})},
            ),
            "server-filesystem (Node.js)": (
                [modules / ".bin/node", modules / "@modelcontextprotocol/server-filesystem/dist/index.js", work],
                {"read a file": ("read_text_file", {"path": f"{work}/file_7.txt"}), "show the tree": ("directory_tree", {"path": str(work)}), "write a file": ("write_file", {"path": f"{work}/new.txt", "content": "new\n"})},
            ),
        }
        names = list(next(iter(servers.values()))[1])
        print("| server | start | first call |", " | ".join(names), "|")
        print("|---|---|---|" + "---|" * len(names))
        for title, (command, calls) in servers.items():
            starts, firsts = [], []
            for _ in range(STARTS):
                server = Server(command, work, env)
                starts.append(server.started)
                firsts.append(server.call(*calls["read a file"]))
                server.end()
            server = Server(command, work, env)
            tools = {tool["name"] for tool in server.ask("tools/list", {})["result"]["tools"]}
            cells = []
            for name in names:
                tool, arguments = calls[name]
                if tool not in tools:
                    raise SystemExit(f"{title} has no tool {tool}: {sorted(tools)}")
                # A file that is there already is no new one.
                def run(number):
                    own = dict(arguments)
                    if name == "write a file":
                        own["path"] = own["path"].replace("new", f"new_{number}")
                    return server.call(tool, own)
                cells.append(statistics.median(run(number) for number in range(CALLS)))
            server.end()
            for made in work.glob("new_*"):
                made.unlink()
            row = [statistics.median(starts), statistics.median(firsts), *cells]
            print(f"| {title} |", " | ".join(f"{1000 * value:.2f}" for value in row), "|")


main()
