#!/usr/bin/env python3
"""Records what the official SDKs send for one conversation, for tests/suite/sdk_requests.rs.

Needs the packages openai and anthropic: python3 -m venv DIR; DIR/bin/pip install openai anthropic; DIR/bin/python scripts/sdk_requests.py
Everything stays on this machine: the "provider" is a small server that plays the replies below.

The conversation: a question; a reply that thinks, writes and calls two tools at once; a reply whose call fails; an answer; a second question.
"""

import http.server
import json
import pathlib
import threading

import anthropic
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

OUT = pathlib.Path(__file__).parent.parent / "fixtures/wires/sdk"
TOOLS = ["get_working_dir", "read_file"]
DESCRIPTION = "DESCRIPTION"
SCHEMA = {"type": "object", "properties": {}}
SYSTEM = "SYSTEM"
QUESTIONS = ["Where am I?", "Thanks. And now?"]
# The calls of each reply: id, name, arguments, and whether they fail.
CALLS = [
    [("call_1", "get_working_dir", "{}", False), ("call_2", "get_working_dir", "{}", False)],
    [("call_3", "read_file", '{"path":"no-such-file"}', True)],
    [],
    [],
]
THOUGHTS = ["**Looking**\n\nFirst the folder.", "Then the file.", None, None]
TEXTS = ["I look twice.", None, "You are here.", "Still here."]


def result(call):
    return f"result of {call}"


def sse(events, named=True):
    lines = []
    for event in events:
        if named:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {json.dumps(event)}\n\n")
    return "".join(lines)


def responses_reply(n):
    items = []
    if THOUGHTS[n]:
        summary = [{"type": "summary_text", "text": THOUGHTS[n]}]
        items.append({"id": f"rs_{n}", "type": "reasoning", "summary": summary, "encrypted_content": f"c2VjcmV0{n}"})
    if TEXTS[n]:
        phase = "commentary" if CALLS[n] else "final_answer"
        content = [{"type": "output_text", "text": TEXTS[n], "annotations": [], "logprobs": []}]
        message = {"id": f"msg_{n}", "type": "message", "status": "completed", "role": "assistant"}
        items.append({**message, "phase": phase, "content": content})
    for call, name, args, _ in CALLS[n]:
        function = {"type": "function_call", "id": f"fc_{call}", "status": "completed"}
        items.append({**function, "call_id": call, "name": name, "arguments": args})
    response = {"id": f"resp_{n}", "object": "response", "created_at": 1, "model": "gpt-5.5", "tools": [], "tool_choice": "auto"}
    response |= {"parallel_tool_calls": True, "output": items, "status": "completed"}
    response["usage"] = {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    }
    events = [
        {"type": f"response.output_item.{what}", "output_index": at, "item": item}
        for at, item in enumerate(items)
        for what in ("added", "done")
    ]
    events.append({"type": "response.completed", "response": response})
    for number, event in enumerate(events):
        event["sequence_number"] = number
    return sse(events)


def completions_reply(n):
    def chunk(delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4.1", "choices": [choice]}

    chunks = [chunk({"role": "assistant", "content": TEXTS[n]})]
    for at, (call, name, args, _) in enumerate(CALLS[n]):
        function = {"name": name, "arguments": args}
        chunks.append(chunk({"tool_calls": [{"index": at, "id": call, "type": "function", "function": function}]}))
    chunks.append(chunk({}, "tool_calls" if CALLS[n] else "stop"))
    return sse(chunks, named=False) + "data: [DONE]\n\n"


def anthropic_reply(n):
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": f"msg_{n}", "type": "message", "role": "assistant", "content": [], "model": "claude-sonnet-5-5"}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    events = [{"type": "message_start", "message": message}]
    blocks = []
    if THOUGHTS[n]:
        thought = {"type": "thinking_delta", "thinking": THOUGHTS[n]}
        signed = {"type": "signature_delta", "signature": f"c2lnbmVk{n}"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]))
    if TEXTS[n]:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": TEXTS[n]}]))
    for call, name, args, _ in CALLS[n]:
        start = {"type": "tool_use", "id": call, "name": name, "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": args}]))
    for at, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": at, "content_block": start})
        events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": at})
    stop = {"stop_reason": "tool_use" if CALLS[n] else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": usage})
    events.append({"type": "message_stop"})
    return sse(events)


def converse_responses(base):
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="test-key")
    tools = [
        {"type": "function", "name": name, "description": DESCRIPTION, "parameters": SCHEMA, "strict": False} for name in TOOLS
    ]
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTIONS[0]}]}]
    for n, calls in enumerate(CALLS):
        stream = client.responses.create(
            model="gpt-5.5",
            instructions=SYSTEM,
            input=items,
            tools=tools,
            reasoning={"effort": "low", "summary": "auto"},
            include=["reasoning.encrypted_content"],
            store=False,
            stream=True,
        )
        items += [event.response for event in stream if event.type == "response.completed"][0].output
        items += [{"type": "function_call_output", "call_id": call, "output": result(call)} for call, *_ in calls]
        if not calls:
            items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTIONS[1]}]})


def converse_completions(base):
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="test-key")
    tools = [
        {"type": "function", "function": {"name": name, "description": DESCRIPTION, "parameters": SCHEMA}} for name in TOOLS
    ]
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTIONS[0]}]
    for calls in CALLS:
        state = ChatCompletionStreamState()
        for chunk in client.chat.completions.create(
            model="gpt-4.1", messages=messages, tools=tools, stream=True, stream_options={"include_usage": True}
        ):
            state.handle_chunk(chunk)
        messages.append(state.get_final_completion().choices[0].message)
        messages += [{"role": "tool", "tool_call_id": call, "content": result(call)} for call, *_ in calls]
        if not calls:
            messages.append({"role": "user", "content": QUESTIONS[1]})


def converse_anthropic(base):
    client = anthropic.Anthropic(base_url=base, api_key="test-key")
    tools = [{"name": name, "description": DESCRIPTION, "input_schema": SCHEMA} for name in TOOLS]
    messages = [{"role": "user", "content": [{"type": "text", "text": QUESTIONS[0]}]}]
    for calls in CALLS:
        system = [{"type": "text", "text": SYSTEM}]
        with client.messages.stream(
            model="claude-sonnet-5-5", max_tokens=128_000, system=system, messages=messages, tools=tools
        ) as stream:
            messages.append({"role": "assistant", "content": stream.get_final_message().content})
        results = [
            {"type": "tool_result", "tool_use_id": call, "content": result(call), **({"is_error": True} if failed else {})}
            for call, _, _, failed in calls
        ]
        messages.append({"role": "user", "content": results or [{"type": "text", "text": QUESTIONS[1]}]})


def record(name, version, reply, converse):
    rounds = []

    class Recorder(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name: self.headers[name] for name in ("content-type", "anthropic-version") if self.headers[name]}
            answer = reply(len(rounds))
            rounds.append({"path": self.path, "headers": headers, "request": body, "reply": answer})
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    converse(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    text = json.dumps({"sdk": version, "rounds": rounds}, indent=1)
    (OUT / f"{name}.json").write_text(text + "\n")


OUT.mkdir(parents=True, exist_ok=True)
record("responses", f"openai {openai.__version__}", responses_reply, converse_responses)
record("completions", f"openai {openai.__version__}", completions_reply, converse_completions)
record("anthropic", f"anthropic {anthropic.__version__}", anthropic_reply, converse_anthropic)
