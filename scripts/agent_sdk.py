"""Drives Marvin with the official Python SDK: agent_sdk.py MARVIN SCENARIO. Prints one object a line: what the SDK yields, and what it is asked."""

import json
import sys

import anyio
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolAnnotations,
    create_sdk_mcp_server,
    query,
    tool,
)

marvin, scenario = sys.argv[1:]


def say(kind, **fields):
    print(json.dumps({"type": kind, **fields}, default=str), flush=True)


def told(message):
    fields = {key: value for key, value in vars(message).items() if key in ("result", "subtype", "model", "session_id", "is_error", "structured_output")}
    text = [block.text for block in getattr(message, "content", []) or [] if hasattr(block, "text")]
    say(type(message).__name__, text=text, **fields)


def options(**more):
    return ClaudeAgentOptions(cli_path=marvin, model="test-model", **more)


async def plain():
    async for message in query(prompt="say hi", options=options(max_turns=3, max_budget_usd=1.5, include_partial_messages=True)):
        told(message)


async def permissions():
    async def can_use_tool(name, given, context):
        say("asked", name=name, input=given)
        if given["command"] == "echo one":
            return PermissionResultDeny(message="not one")
        return PermissionResultAllow(updated_input={**given, "command": given["command"] + " changed"})

    async with ClaudeSDKClient(options(can_use_tool=can_use_tool)) as client:
        await client.query("run echo one")
        async for message in client.receive_response():
            told(message)


async def messages():
    async with ClaudeSDKClient(options()) as client:
        for text in ("first", "second"):
            await client.query(text)
            async for message in client.receive_response():
                told(message)
        await client.set_model("other-model")
        await client.set_permission_mode("acceptEdits")
        await client.query("third")
        async for message in client.receive_response():
            told(message)


async def interrupt():
    async with ClaudeSDKClient(options(include_partial_messages=True)) as client:
        await client.query("slow")
        stopped = False
        async for message in client.receive_response():
            told(message)
            if type(message).__name__ == "StreamEvent" and message.event["type"] == "content_block_delta" and not stopped:
                stopped = True
                await client.interrupt()
        await client.query("after")
        async for message in client.receive_response():
            told(message)


async def hooks():
    def hook(answer):
        async def told(given, tool_use_id, context):
            say("hook", event=given["hook_event_name"])
            return answer(given)

        return told

    def specific(event, **more):
        return {"hookSpecificOutput": {"hookEventName": event, **more}}

    def before(given):
        if given["tool_input"]["command"] == "echo one":
            return specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="not one")
        return specific("PreToolUse", permissionDecision="allow", updatedInput={"command": "echo two changed"}, additionalContext="Mind two.")

    matchers = {
        "UserPromptSubmit": [HookMatcher(hooks=[hook(lambda given: specific("UserPromptSubmit", additionalContext="From the hook."))])],
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook(before)]), HookMatcher(matcher="Read", hooks=[hook(before)])],
        "PostToolUse": [HookMatcher(matcher="run_.*", hooks=[hook(lambda given: specific("PostToolUse", additionalContext="After two."))])],
        "Stop": [HookMatcher(hooks=[hook(lambda given: {} if given["stop_hook_active"] else {"decision": "block", "reason": "count again"})])],
    }
    async with ClaudeSDKClient(options(hooks=matchers)) as client:
        await client.query("run echo one")
        async for message in client.receive_response():
            told(message)


async def servers():
    @tool("add", "Adds two numbers.", {"a": float, "b": float}, annotations=ToolAnnotations(readOnlyHint=True))
    async def add(given):
        return {"content": [{"type": "text", "text": f"sum {given['a'] + given['b']:g}"}]}

    @tool("draw", "Draws.", {"what": str})
    async def draw(given):
        return {"content": [{"type": "text", "text": given["what"]}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]}

    @tool("fail", "Fails.", {})
    async def fail(given):
        return {"content": [{"type": "text", "text": "out of ink"}], "is_error": True}

    async def can_use_tool(name, given, context):
        say("asked", name=name)
        return PermissionResultAllow(updated_input=given)

    calc = create_sdk_mcp_server("calc", "1.0.0", [add, draw, fail])
    async with ClaudeSDKClient(options(mcp_servers={"calc": calc}, can_use_tool=can_use_tool)) as client:
        await client.query("add")
        async for message in client.receive_response():
            told(message)


async def schema():
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    async for message in query(prompt="count", options=options(output_format={"type": "json_schema", "schema": shape})):
        told(message)


anyio.run(globals()[scenario])
