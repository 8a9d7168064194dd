// Runs the extension with a stand-in for the editor; `dump` is the real command, which PTE_EMIT names.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { spawnSync } = require('node:child_process');
const { document, fake } = require('../fake/vscode.js');

const COMMAND = process.env.PTE_EMIT || 'pte-emit';
const PROGRAM = 'methods: {forward: {outputs: [7]}}\n';

// Loads the extension anew, in a stand-in with these settings and in a new folder, and activates it.
async function started(settings = {}) {
  const { modules, vscode, state } = fake({ 'pte-emit.path': COMMAND, ...settings });
  const load = Module._load;
  Module._load = (request, ...rest) => modules[request] ?? load(request, ...rest);
  const context = { subscriptions: [] };
  let extension;
  try {
    delete require.cache[require.resolve('../extension.js')];
    extension = require('../extension.js');
  } finally {
    Module._load = load;
  }
  await extension.activate(context);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pte-emit-vscode-'));
  const write = (name, text) => {
    fs.writeFileSync(path.join(folder, name), text);
    return document(path.join(folder, name), text.toString());
  };
  return { extension, vscode, state, context, folder, write, client: state.clients[0] };
}

test('YAML that names the schema gets the language of the server', async () => {
  const { extension, state } = await started();
  const line = '# yaml-language-server: $schema=../pte-emit.schema.json\n';
  assert.ok(extension.SCHEMA_LINE.test(line) && !extension.SCHEMA_LINE.test('# yaml-language-server: $schema=other.json\n'));
  state.open(document('/a.yaml', line, 'yaml'));
  state.open(document('/b.yaml', PROGRAM, 'yaml'));
  state.open(document('/c.txt', line, 'plaintext'));
  assert.deepStrictEqual(state.languages, [['/a.yaml', 'pte-emit']]);
  // The user chooses YAML.
  state.open(document('/a.yaml', line, 'yaml'));
  assert.strictEqual(state.languages.length, 1);
});

test('the server is started with the settings, and again with another path', async () => {
  const { client, state, context } = await started({ 'pte-emit.runtime': '1.0.1', 'pte-emit.hints': { memory: true } });
  assert.deepStrictEqual(client.server, { command: COMMAND, args: ['lsp'] });
  assert.deepStrictEqual(client.options.documentSelector, [{ language: 'pte-emit' }]);
  const { runtime, hints } = client.options.initializationOptions;
  assert.deepStrictEqual([runtime, hints, client.running], ['1.0.1', { memory: true }, true]);
  await state.configured({ affectsConfiguration: (name) => name === 'pte-emit.path' });
  assert.deepStrictEqual(state.clients.map(({ running }) => running), [false, true]);
  for (const subscription of context.subscriptions) await subscription.dispose();
  assert.ok(!state.clients[1].running);
});

test('a missing command is reported with what to do', async () => {
  const { state } = await started({ 'pte-emit.path': '/nowhere/pte-emit' });
  assert.strictEqual(state.messages[0], 'pte-emit: /nowhere/pte-emit is not found: install it with `cargo install pte-emit --locked`, or set pte-emit.path');
  assert.strictEqual(state.clients.length, 0);
  state.answer = 'How to install';
  await state.commands['pte-emit.restart']();
  assert.match(state.opened[0], /docs\/install\.md$/);
  state.answer = undefined;
  state.settings['pte-emit.path'] = 'false';
  await state.commands['pte-emit.restart']();
  assert.match(state.messages.at(-1), /false has no language server: install a newer version with `cargo install/);
});

test('what a command prints is in the output, and a report beside the text, again after it is saved', async () => {
  const { vscode, state, client, write, folder } = await started();
  await client.options.middleware.executeCommand('pte-emit.run', ['file:///m.yaml', 'f'], async () => ({ text: '7\n', status: 0, file: null }));
  assert.deepStrictEqual(state.output, ['7']);
  fs.writeFileSync(path.join(folder, 'page.html'), '<p>1');
  client.answers['pte-emit.report'] = { text: '', status: 0, file: `file://${folder}/page.html` };
  const text = write('m.pte.yaml', PROGRAM);
  vscode.window.activeTextEditor = { document: text };
  await state.commands['pte-emit.showReport']();
  assert.deepStrictEqual([state.panels[0].title, state.panels[0].webview.html], ['m.pte.yaml: report', '<p>1']);
  fs.writeFileSync(path.join(folder, 'page.html'), '<p>2');
  await state.saved(text);
  assert.deepStrictEqual([state.panels.length, state.panels[0].webview.html], [1, '<p>2']);
  assert.ok(!fs.existsSync(path.join(folder, 'page.html')));
  // A text with errors: the former report stays, and nothing opens.
  client.answers['pte-emit.report'] = { text: 'error\n', status: 1, file: null };
  await state.saved(text);
  assert.deepStrictEqual([state.output, state.panels[0].webview.html], [['7'], '<p>2']);
  // Asked for, it is in the output; a command reads what is saved.
  text.isDirty = true;
  vscode.workspace.textDocuments = [text];
  await state.commands['pte-emit.showReport']();
  assert.deepStrictEqual([state.output, text.isDirty], [['7', 'error'], false]);
  state.panels[0].close();
  client.answers['pte-emit.report'] = { text: '', status: 0, file: 'file:///nowhere.html' };
  await state.saved(text);
});

test('a program is shown as YAML, and an invalid one reported', async () => {
  const { state, folder, write } = await started();
  write('-x.yaml', PROGRAM);
  assert.strictEqual(spawnSync(COMMAND, ['./-x.yaml', '-o', './-x.pte'], { cwd: folder }).status, 0);
  await state.commands['pte-emit.dump']({ fsPath: path.join(folder, '-x.pte') });
  assert.strictEqual(state.shown[0]?.language, 'pte-emit');
  assert.match(state.shown[0].content, /outputs: \[7\]/);
  await state.commands['pte-emit.dump']();
  write('junk.pte', 'junk');
  state.chosen = [{ fsPath: path.join(folder, 'junk.pte') }];
  await state.commands['pte-emit.dump']();
  assert.match(state.messages[0], /junk\.pte/);
});

test('the manifest names what exists', async () => {
  const manifest = require('../package.json');
  const { state } = await started();
  assert.deepStrictEqual(Object.keys(state.commands).sort(), manifest.contributes.commands.map(({ command }) => command).sort());
  const [injection, language] = manifest.contributes.grammars.map((grammar) => {
    const found = JSON.parse(fs.readFileSync(path.join(__dirname, '..', grammar.path)));
    assert.strictEqual(found.scopeName, grammar.scopeName);
    return found;
  });
  assert.deepStrictEqual(language.patterns.map(({ include }) => include), [injection.scopeName, 'source.yaml']);
  const names = (text) => injection.patterns.filter(({ match }) => new RegExp(match).test(text)).map(({ name }) => name.split('.').at(-2));
  assert.deepStrictEqual(names('- {kernel: aten::add.out}'), ['operator']);
  assert.deepStrictEqual(names('sizes: [${BATCH:1}]'), ['template']);
  assert.deepStrictEqual(names('x: {tensor: float32}'), ['dtype']);
  assert.deepStrictEqual(names('key: value'), []);
  const workspace = fs.readFileSync(path.join(__dirname, '../../../Cargo.toml'), 'utf8');
  assert.ok(workspace.includes(`version = "${manifest.version}"`), 'the version of the extension is that of the crates');
  assert.ok(workspace.includes(`repository = "${manifest.repository.url}"`), 'and the address of the repository, too');
});
