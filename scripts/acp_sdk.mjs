// Drives Marvin with the official TypeScript SDK of the Agent Client Protocol: node acp_sdk.mjs FOLDER-OF-THE-SDK MARVIN FOLDER [FLAG…]. Prints one object a line: `wire` is a line of
// the agent as it came, the others are what the SDK yields.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [, , folder, marvin, cwd, ...flags] = process.argv;
const entry = createRequire(`${folder}/`).resolve('@agentclientprotocol/sdk');
const acp = await import(pathToFileURL(entry));
const { agent: to, client: from } = acp.methods;

const say = (line) => console.log(JSON.stringify(line));
const child = spawn(marvin, ['acp', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
const ended = new Promise((resolve) => child.on('exit', resolve));
const decoder = new TextDecoder();
let rest = '';
const tee = new TransformStream({
  transform(bytes, controller) {
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) say({ type: 'wire', line: JSON.parse(line) });
    controller.enqueue(bytes);
  },
});
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout).pipeThrough(tee));

let heard = () => {};
const option = { 'touch refused': 'no' };
const app = acp
  .client({ name: 'test' })
  .onRequest(from.session.requestPermission, ({ params }) => {
    say({ type: 'asked', title: params.toolCall.title, content: params.toolCall.content ?? [] });
    return { outcome: { outcome: 'selected', optionId: option[params.toolCall.title] ?? 'once' } };
  })
  .onRequest(from.fs.readTextFile, () => ({ content: 'of the editor\n' }))
  .onRequest(from.fs.writeTextFile, ({ params }) => {
    say({ type: 'wrote', content: params.content });
    return {};
  })
  .onNotification(from.session.update, ({ params }) => {
    say({ type: 'update', update: params.update });
    heard(params.update);
  });

await app.connectWith(stream, async (ctx) => {
  const text = (sessionId, said) => ctx.request(to.session.prompt, { sessionId, prompt: [{ type: 'text', text: said }] });
  const end = async (step, answer) => say({ type: 'answer', step, answer: await answer });
  await end('initialize', ctx.request(to.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } }));
  const { sessionId } = await ctx.request(to.session.new, { cwd, mcpServers: [] });
  await end('hello', text(sessionId, 'hello'));
  await end('run', text(sessionId, 'run echo found'));
  await end('refused', text(sessionId, 'run touch refused'));
  await end('edit', text(sessionId, 'call apply_patch {"path": "a.txt", "old_str": "of", "new_str": "from"}'));
  heard = (update) => {
    if (update.content?.text === 'slow') ctx.notify(to.session.cancel, { sessionId });
  };
  await end('cancelled', text(sessionId, 'slow'));
  heard = () => {};
  await end('mode', ctx.request(to.session.setMode, { sessionId, modeId: 'plan' }));
  await end('option', ctx.request(to.session.setConfigOption, { sessionId, configId: 'mode', value: 'ask' }));
  await end('unknown', ctx.request('session/nonsense', {}).catch((error) => ({ code: error.code })));
  await end('close', ctx.request(to.session.close, { sessionId }));
  await end('load', ctx.request(to.session.load, { sessionId, cwd, mcpServers: [] }));
  await end('list', ctx.request(to.session.list, { cwd }));
  await end('more', text(sessionId, 'more'));
  await end('delete', ctx.request(to.session.delete, { sessionId }));
});
child.stdin.end();
say({ type: 'answer', step: 'exit', answer: await ended });
