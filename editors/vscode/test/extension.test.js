// Runs the extension with a stand-in for the editor and the real command, which PTE_EMIT names.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { document, fake } = require('../fake/vscode.js');
const { findings, isProgram, offsetInText, parse } = require('../logic.js');

const COMMAND = process.env.PTE_EMIT || 'pte-emit';
const PROGRAM = `methods:
  forward:
    # ü😀
    values: {x: {tensor: float32, sizes: [2]}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
`;

// Loads the extension anew, in a stand-in with these settings and in a new folder, and activates it.
function started(settings = {}) {
  const { vscode, state } = fake({ 'pte-emit.path': COMMAND, 'pte-emit.checkOnSave': true, ...settings });
  const load = Module._load;
  Module._load = (request, ...rest) => (request === 'vscode' ? vscode : load(request, ...rest));
  const context = { subscriptions: [] };
  try {
    delete require.cache[require.resolve('../extension.js')];
    require('../extension.js').activate(context);
  } finally {
    Module._load = load;
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pte-emit-vscode-'));
  const write = (name, text) => {
    fs.writeFileSync(path.join(folder, name), text);
    return document(path.join(folder, name), text.toString().replace(/^\ufeff/, ''));
  };
  return { vscode, state, context, folder, write };
}

test('programs are known by their names, or by the line of the schema', () => {
  assert.ok(isProgram('/a/model.pte.yaml', '') && isProgram('w.PTD.yml', ''));
  assert.ok(isProgram('a.yaml', '# yaml-language-server: $schema=../pte-emit.schema.json\nmethods: {}\n'));
  assert.ok(isProgram('a.yaml', '# yaml-language-server: $schema=https://host.example/raw/HEAD/pte-emit.schema.json\n'));
  assert.ok(!isProgram('a.yaml', 'methods: {}\n') && !isProgram('a.yaml', '# $schema=pte-emit.schema.json\n'));
  assert.ok(!isProgram('compose.yaml', '# yaml-language-server: $schema=other.json\n') && !isProgram('pte.yaml.txt', ''));
});

test('offsets in bytes become offsets in UTF-16', () => {
  const bytes = Buffer.from('ü😀x');
  assert.deepStrictEqual([0, 2, 6, 7, 99].map((offset) => offsetInText(bytes, offset)), [0, 1, 3, 4, 4]);
  assert.strictEqual(offsetInText(Buffer.from('\ufeffab'), 4), 1);
});

test('findings without a position are at the start, with their path', () => {
  const finding = { level: 'warning', rule: 'O-5', message: 'm', path: 'methods.forward', why: 'w', source: null };
  const message = { level: 'error', rule: null, message: 'n', help: 'h', source: { start: 1, end: 2 } };
  assert.deepStrictEqual(findings({ files: [{ findings: [finding, message] }] }, Buffer.from('abc')), [
    { start: 0, end: 0, level: 'warning', rule: 'O-5', message: 'methods.forward: m\nw' },
    { start: 1, end: 2, level: 'error', rule: null, message: 'n\nhelp: h' },
  ]);
  assert.throws(() => parse('', "error: unexpected argument '--format'"), /printed no JSON: error: unexpected argument/);
  assert.throws(() => parse('[]', ''), /no JSON/);
});

test('the findings of a saved program are shown at their positions, until it is correct', async () => {
  const { state, write, context } = started();
  const bad = write('model.pte.yaml', PROGRAM.replace('float32', 'flaot32'));
  await state.saved(bad);
  assert.deepStrictEqual(state.messages, []);
  const [first] = state.diagnostics.get(bad.fileName);
  assert.deepStrictEqual({ ...first.range }, { start: { line: 3, character: 25 }, end: { line: 3, character: 32 } });
  assert.match(first.message, /flaot32[^]*did you mean `float32`/);
  assert.deepStrictEqual([first.severity, first.source, typeof first.code], [0, 'pte-emit', 'string']);

  await state.saved(write('model.pte.yaml', PROGRAM));
  assert.deepStrictEqual(state.diagnostics.get(bad.fileName).filter((shown) => shown.severity === 0), []);
  state.closed(bad);
  assert.strictEqual(state.diagnostics.size, 0);
  context.subscriptions.forEach((subscription) => subscription.dispose());
});

test('a file with a byte order mark has the same positions', async () => {
  const { state, write } = started();
  const bad = write('bom.pte.yaml', '\ufeff' + PROGRAM.replace('float32', 'flaot32'));
  await state.saved(bad);
  const [first] = state.diagnostics.get(bad.fileName) ?? [];
  assert.deepStrictEqual(first?.range.start, { line: 3, character: 25 });
});

test('other files are not checked, nor any if it is off', async () => {
  const { state, write } = started();
  await state.saved(write('compose.yaml', 'services: {}\n'));
  await state.saved(document('/x/model.pte.yaml', '', 'plaintext'));
  const off = started({ 'pte-emit.checkOnSave': false });
  await off.state.saved(off.write('model.pte.yaml', 'methods: 1\n'));
  assert.deepStrictEqual([state.diagnostics.size, off.state.diagnostics.size], [0, 0]);
});

test('of two checks of a document, the findings of the second are shown', async () => {
  const { state, write } = started();
  const first = state.saved(write('model.pte.yaml', 'methods: 1\n'));
  const second = state.saved(write('model.pte.yaml', PROGRAM));
  await Promise.all([first, second]);
  const errors = [...state.diagnostics.values()].flat().filter((shown) => shown.severity === 0);
  assert.deepStrictEqual([errors, state.messages], [[], []]);
});

test('a missing command is reported with the setting that names it', async () => {
  const { state, write } = started({ 'pte-emit.path': '/nowhere/pte-emit' });
  await state.saved(write('model.pte.yaml', PROGRAM));
  assert.match(state.messages[0], /nowhere\/pte-emit is not found; .*pte-emit\.path/);
});

test('the command checks the active file', async () => {
  const { vscode, state, write } = started();
  await state.commands['pte-emit.check']();
  vscode.window.activeTextEditor = { document: write('any.yaml', 'methods: 1\n') };
  await state.commands['pte-emit.check']();
  assert.strictEqual([...state.diagnostics.values()].flat()[0].severity, 0);
});

test('a program is shown as YAML, and an invalid one reported', async () => {
  const { state, folder, write } = started();
  write('-x.yaml', PROGRAM);
  const { spawnSync } = require('node:child_process');
  assert.strictEqual(spawnSync(COMMAND, ['./-x.yaml', '-o', './-x.pte'], { cwd: folder }).status, 0);
  await state.commands['pte-emit.dump']({ fsPath: path.join(folder, '-x.pte') });
  assert.strictEqual(state.shown[0]?.language, 'yaml');
  assert.match(state.shown[0].content, /^# yaml-language-server: \$schema=[^]*aten::relu/);
  assert.ok(isProgram('untitled', state.shown[0].content));
  await state.commands['pte-emit.dump']();
  write('junk.pte', 'junk');
  state.chosen = [{ fsPath: path.join(folder, 'junk.pte') }];
  await state.commands['pte-emit.dump']();
  assert.match(state.messages[0], /junk\.pte/);
  assert.deepStrictEqual([state.shown.length, state.messages.length], [1, 1]);
});

test('the manifest names what exists', () => {
  const manifest = require('../package.json');
  const { state } = started();
  assert.deepStrictEqual(Object.keys(state.commands).sort(), manifest.contributes.commands.map(({ command }) => command).sort());
  const grammar = JSON.parse(fs.readFileSync(path.join(__dirname, '..', manifest.contributes.grammars[0].path)));
  assert.strictEqual(grammar.scopeName, manifest.contributes.grammars[0].scopeName);
  const names = (text) => grammar.patterns.filter(({ match }) => new RegExp(match).test(text)).map(({ name }) => name.split('.').at(-2));
  assert.deepStrictEqual(names('- {kernel: aten::add.out}'), ['operator']);
  assert.deepStrictEqual(names('sizes: [${BATCH:1}]'), ['template']);
  assert.deepStrictEqual(names('x: {tensor: float32}'), ['dtype']);
  assert.deepStrictEqual(names('key: value'), []);
  const workspace = fs.readFileSync(path.join(__dirname, '../../../Cargo.toml'), 'utf8');
  assert.ok(workspace.includes(`version = "${manifest.version}"`), 'the version of the extension is that of the crates');
  assert.ok(workspace.includes(`repository = "${manifest.repository.url}"`), 'and the address of the repository, too');
});
