"""Uses a server of the Model Context Protocol as the official Python SDK does: `mcp_client.py MODE SERVER…`, and says in JSON what it got.

MODE is `auto`, `legacy` or a revision; SERVER is an address, or a program with its arguments.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main(mode: str, server: list[str]) -> None:
    told = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append([done, message])

    start = server[0]
    if not start.startswith("http"):
        import os

        start = StdioServerParameters(command=start, args=server[1:], env=dict(os.environ))
    async with Client(start, mode=mode) as client:
        tools = await client.list_tools()
        note = await client.call_tool("write_note", {"path": "sdk.md", "content": "hello"})
        wrong = await client.call_tool("write_note", {"nonsense": 1})
        slow = await client.call_tool(
            "run_command", {"command": "echo one; sleep 0.2"}, progress_callback=progress
        )
        resources = await client.list_resources()
        read = await client.read_resource("note:///sdk.md")
        print(
            json.dumps(
                {
                    "version": client.protocol_version,
                    "server": client.server_info.name,
                    "tools": len(tools.tools),
                    "hints": next(t for t in tools.tools if t.name == "read_file").annotations.read_only_hint,
                    "note": [note.is_error, note.content[0].text],
                    "wrong": wrong.is_error,
                    "slow": slow.content[0].text,
                    "progress": told,
                    "resources": [str(r.uri) for r in resources.resources],
                    "read": read.contents[0].text,
                }
            )
        )


asyncio.run(main(sys.argv[1], sys.argv[2:]))
