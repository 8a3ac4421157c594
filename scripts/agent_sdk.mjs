// Drives Marvin with the official TypeScript SDK: node agent_sdk.mjs FOLDER-OF-THE-SDK MARVIN SCENARIO. Prints one object a line: what the SDK yields, and what it is asked.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , folder, marvin, scenario] = process.argv;
const entry = createRequire(`${folder}/`).resolve('@anthropic-ai/claude-agent-sdk');
const { createSdkMcpServer, query, tool } = await import(pathToFileURL(entry));
const { z } = await import(pathToFileURL(createRequire(entry).resolve('zod')));

const say = (line) => console.log(JSON.stringify(line));
const user = (content) => ({ type: 'user', session_id: '', message: { role: 'user', content }, parent_tool_use_id: null });
const options = { pathToClaudeCodeExecutable: marvin, model: 'test-model' };

async function follow(prompt, more, each = () => {}) {
  const running = query({ prompt, options: { ...options, ...more } });
  try {
    for await (const message of running) {
      say(message);
      await each(message, running);
    }
  } catch (error) {
    say({ type: 'thrown', message: String(error.message) });
  }
}

const scenarios = {
  plain: () => follow('say hi', { includePartialMessages: true, maxTurns: 3, systemPrompt: { type: 'preset', preset: 'claude_code', append: 'Be brief.' } }),
  tools: () => follow('run echo found', { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }),
  permissions: () =>
    follow('run echo one', {
      canUseTool: async (name, input, { toolUseID }) => {
        say({ type: 'asked', name, input, toolUseID });
        if (input.command === 'echo one') return { behavior: 'deny', message: 'not one' };
        return { behavior: 'allow', updatedInput: { ...input, command: `${input.command} changed` } };
      },
    }),
  async messages() {
    async function* prompts() {
      yield user('first');
      yield user('second');
    }
    await follow(prompts(), {});
  },
  async interrupt() {
    let go;
    const gone = new Promise((resolve) => (go = resolve));
    async function* prompts() {
      yield user('slow');
      await gone;
      yield user('after');
    }
    let stopped = false;
    await follow(prompts(), { includePartialMessages: true }, async (message, running) => {
      if (message.type === 'stream_event' && message.event.type === 'content_block_delta' && !stopped) {
        stopped = true;
        running.interrupt();
      }
      if (message.type === 'result') go();
    });
  },
  async model() {
    let go;
    const gone = new Promise((resolve) => (go = resolve));
    async function* prompts() {
      yield user('first');
      await gone;
      yield user('second');
    }
    let switched = false;
    await follow(prompts(), {}, async (message, running) => {
      if (message.type === 'result' && !switched) {
        switched = true;
        await running.setModel('other-model');
        await running.setPermissionMode('acceptEdits');
        go();
      }
    });
  },
  async resume() {
    let id;
    await follow('first', {}, (message) => (id = message.session_id));
    await follow('second', { resume: id });
    await follow('third', { resume: id, forkSession: true });
  },
  hooks: () => {
    const told = (answer) => async (input) => {
      say({ type: 'hook', event: input.hook_event_name, command: input.tool_input?.command });
      return answer(input);
    };
    const before = (input) =>
      input.tool_input.command === 'echo one'
        ? { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'not one' } }
        : { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput: { command: 'echo two changed' }, additionalContext: 'Mind two.' } };
    return follow('run echo one', {
      hooks: {
        UserPromptSubmit: [{ hooks: [told(() => ({ hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'From the hook.' } }))] }],
        PreToolUse: [{ matcher: 'Bash', hooks: [told(before)] }, { matcher: 'Read', hooks: [told(before)] }],
        PostToolUse: [{ matcher: 'run_.*', hooks: [told(() => ({ hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'After two.' } }))] }],
        Stop: [{ hooks: [told((input) => (input.stop_hook_active ? {} : { decision: 'block', reason: 'count again' }))] }],
      },
    });
  },
  servers: () => {
    const text = (text) => ({ type: 'text', text });
    const calc = createSdkMcpServer({
      name: 'calc',
      version: '1.0.0',
      tools: [
        tool('add', 'Adds two numbers.', { a: z.number(), b: z.number() }, async ({ a, b }) => ({ content: [text(`sum ${a + b}`)] }), { annotations: { readOnlyHint: true } }),
        tool('draw', 'Draws.', { what: z.string() }, async ({ what }) => ({ content: [text(what), { type: 'image', data: 'AAAA', mimeType: 'image/png' }] })),
        tool('fail', 'Fails.', {}, async () => ({ content: [text('out of ink')], isError: true })),
      ],
    });
    return follow('add', {
      mcpServers: { calc, gone: { type: 'stdio', command: 'false' } },
      mcpServersDelivery: 'initialize',
      canUseTool: async (name, input) => {
        say({ type: 'asked', name });
        return { behavior: 'allow', updatedInput: input };
      },
    });
  },
  schema: () =>
    follow('count', { outputFormat: { type: 'json_schema', schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false } } }),
};
await scenarios[scenario]();
