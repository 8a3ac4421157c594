"""A server of the Model Context Protocol by the official Python SDK: `mcp_server.py [PORT]`, over standard input and output or, with a port, streamable HTTP."""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("sdk", instructions="A server for tests.")


class Name(BaseModel):
    name: str


def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@server.tool(annotations={"readOnlyHint": True})
def add(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


@server.tool()
def greet(person: Annotated[Name, Resolve(who)]) -> str:
    """Asks for a name and greets."""
    return f"Hello, {person.name}!"


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Reports progress."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"{steps} steps"


@server.resource("demo://greeting")
def greeting() -> str:
    """A greeting."""
    return "good day"


@server.prompt()
def review(code: str) -> str:
    """Asks for a review."""
    return f"Please review: {code}"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
