// Runs the extension, its source and the bundle that is packaged, with a stand-in for the editor. The client of the
// protocol and the server are real: PTE_EMIT names the command.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const vm = require('node:vm');
const { spawn, spawnSync } = require('node:child_process');
const { document, fake, load, Uri } = require('../fake/vscode.js');
const manifest = require('../package.json');

const COMMAND = process.env.PTE_EMIT || 'pte-emit';
const PROGRAM = 'methods: {forward: {outputs: [7]}}\n';
const WITH_DATA = 'methods: {forward: {values: {w: {tensor: int32, sizes: [1], data: {file: w.bin}}}, outputs: [w]}}\n';
const ENTRIES = { source: '../extension.js', bundle: path.join('..', manifest.main) };

// Waits until something holds, at most 20 seconds.
async function until(what, holds) {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`in 20 seconds not: ${what}`);
}

const folder = () => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pte-emit-vscode-')));

// Loads the extension anew, in a stand-in with these settings and with a new folder, and activates it.
async function started(context, entry, settings = {}) {
  const root = folder();
  const { vscode, state } = fake({ 'pte-emit.path': COMMAND, ...settings }, [root]);
  const extension = load(path.join(__dirname, entry), vscode);
  const given = { subscriptions: [], extension: { packageJSON: manifest } };
  const stop = async () => {
    for (const subscription of given.subscriptions.splice(0)) await subscription.dispose();
  };
  context.after(async () => {
    await stop();
    fs.rmSync(root, { recursive: true });
  });
  await extension.activate(given);
  const write = (name, text, language) => {
    fs.writeFileSync(path.join(root, name), text);
    return document(Uri.file(path.join(root, name)), text.toString(), language);
  };
  const found = (made) => state.diagnostics.get(made.uri.toString())?.map(({ message }) => message);
  const active = (made) => (vscode.window.activeTextEditor = { document: made });
  return { extension, vscode, state, root, write, found, active, stop };
}

// A command that notes its processes, and runs pte-emit.
function noted() {
  const root = folder();
  const file = path.join(root, 'pte-emit');
  const list = path.join(root, 'processes');
  fs.writeFileSync(file, `#!/bin/sh\n[ "$2" = --help ] || echo $$ >> '${list}'\nexec '${COMMAND}' "$@"\n`, { mode: 0o755 });
  return { file, processes: () => (fs.existsSync(list) ? fs.readFileSync(list, 'utf8').trim().split('\n').map(Number) : []) };
}

for (const [name, entry] of Object.entries(ENTRIES)) {
  const check = (title, run) => test(`${name}: ${title}`, (context) => run((settings) => started(context, entry, settings)));

  check('YAML that names the schema gets the language of the server', async (start) => {
    const { extension, state } = await start();
    const line = '# yaml-language-server: $schema=../pte-emit.schema.json\n';
    assert.ok(extension.SCHEMA_LINE.test(line) && !extension.SCHEMA_LINE.test('# yaml-language-server: $schema=other.json\n'));
    const made = state.open(document(Uri.file('/a.yaml'), line, 'yaml'));
    state.open(document(Uri.file('/b.yaml'), PROGRAM, 'yaml'));
    state.open(document(Uri.file('/c.txt'), line, 'plaintext'));
    assert.deepStrictEqual(state.languages, [['/a.yaml', 'pte-emit']]);
    // The user chooses YAML.
    made.languageId = 'yaml';
    await state.fire('onDidOpenTextDocument', made);
    assert.strictEqual(state.languages.length, 1);
  });

  check('files and new texts have messages, other revisions of a file have none', async (start) => {
    const { state, root, found } = await start();
    const text = 'methods: {forward: {outputs: [x]}}\n';
    const [file, other, plain] = ['file', 'git', 'file'].map((scheme, index) => document(new Uri(scheme, `${root}/m${index}.pte.yaml`), text));
    plain.languageId = 'yaml';
    const unnamed = document(new Uri('untitled', 'Untitled-1'), text);
    [other, plain, file, unnamed].forEach(state.open);
    await until('messages', () => found(file) && found(unnamed));
    assert.match(found(file)[0], /unknown value `x`/);
    assert.deepStrictEqual(found(unnamed), found(file));
    assert.deepStrictEqual([found(other), found(plain)], [undefined, undefined]);
  });

  check('settings reach the server when it starts and when they change', async (start) => {
    const { state, write, found } = await start({ 'pte-emit.runtime': '0.99' });
    await until('a warning', () => state.warnings.length > 0);
    assert.match(state.warnings[0], /unknown release `0.99`/);
    const made = state.open(write('m.pte.yaml', WITH_DATA));
    fs.writeFileSync(path.join(path.dirname(made.fileName), 'w.bin'), Buffer.alloc(4));
    // Hints are asked for again after a text is analysed again.
    await until('messages', () => found(made));
    await state.fire('onDidChangeConfiguration', { affectsConfiguration: (section) => section === 'editor' });
    let asked = 0;
    state.providers.hints.onDidChangeInlayHints(() => (asked += 1));
    Object.assign(state.settings, { 'pte-emit.runtime': null, 'pte-emit.confine': os.tmpdir() + '/nowhere' });
    await state.fire('onDidChangeConfiguration', { affectsConfiguration: (section) => section === 'pte-emit' });
    await until('confinement', () => found(made)?.some((message) => /to which files are confined/.test(message)));
    await until('hints', () => asked > 0);
    assert.deepStrictEqual([asked, state.warnings.length], [1, 1]);
  });

  check('another path starts the server again, another folder does not', async (start) => {
    const { file, processes } = noted();
    const { state, vscode, write, found, stop } = await start();
    state.settings['pte-emit.path'] = file;
    await state.fire('onDidChangeConfiguration', { affectsConfiguration: () => true });
    assert.strictEqual(processes().length, 1);
    vscode.workspace.workspaceFolders.push({ uri: Uri.file(os.tmpdir()), name: 'tmp', index: 1 });
    await state.fire('onDidChangeWorkspaceFolders', { added: vscode.workspace.workspaceFolders.slice(1), removed: [] });
    assert.strictEqual(processes().length, 1);
    const made = state.open(write('m.pte.yaml', 'methods: 1\n'));
    await until('messages', () => found(made));
    await stop();
    await until('its end', () => processes().every((id) => !isRunning(id)));
  });

  check('a server that crashes is started again, some times', async (start) => {
    const { file, processes } = noted();
    const { state, write, found, active } = await start({ 'pte-emit.path': file });
    const made = state.open(write('m.pte.yaml', 'methods: 1\n'));
    await until('messages', () => found(made));
    for (let crashes = 1; crashes <= 5; crashes += 1) {
      state.diagnostics.clear();
      process.kill(processes().at(-1), 'SIGKILL');
      await until('another server', () => (crashes < 5 ? processes().length > crashes && found(made) : state.messages.length > 0));
    }
    assert.match(state.messages[0], /crashed 5 times/);
    assert.strictEqual(processes().length, 5);
    // A command starts it again.
    active(made);
    await state.commands['pte-emit.showReport']();
    await until('messages', () => found(made)?.length > 0);
    assert.strictEqual(processes().length, 6);
  });

  check('a command that is missing, too old, or another one is reported with what to do', async (start) => {
    const { state } = await start({ 'pte-emit.path': '/nowhere/pte-emit' });
    assert.strictEqual(state.messages[0], 'pte-emit: /nowhere/pte-emit is not found: install it with `cargo install pte-emit --locked`, or set pte-emit.path');
    const wrong = { false: /false has no language server: install a newer version with `cargo install/, true: /true is not pte-emit/ };
    for (const [command, message] of Object.entries(wrong)) {
      state.settings['pte-emit.path'] = command;
      await state.commands['pte-emit.restart']();
      assert.match(state.messages.at(-1), message);
    }
    state.settings['pte-emit.path'] = 'false';
    state.answer = 'How to Install';
    await state.commands['pte-emit.restart']();
    state.answer = 'Set Its Path';
    await state.commands['pte-emit.restart']();
    await until('both', () => state.executed.length > 0);
    assert.match(state.opened[0], /docs\/install\.md$/);
    assert.deepStrictEqual(state.executed, [['workbench.action.openSettings', 'pte-emit.path']]);
  });

  check('a server that ends before it answers is reported', async (start) => {
    const { root } = await start();
    const dies = path.join(root, 'dies');
    fs.writeFileSync(dies, '#!/bin/sh\n[ "$2" = --help ] && echo "pte-emit lsp" || exit 1\n', { mode: 0o755 });
    // In a process of its own: the client leaves a promise that nothing handles.
    const script = `
      const { fake, load } = require(${JSON.stringify(require.resolve('../fake/vscode.js'))});
      const { vscode, state } = fake({ 'pte-emit.path': ${JSON.stringify(dies)} });
      const extension = { packageJSON: require(${JSON.stringify(require.resolve('../package.json'))}) };
      load(${JSON.stringify(path.join(__dirname, entry))}, vscode).activate({ subscriptions: [], extension }).then(() => {
        console.log(state.messages.join('\\n'));
        process.exit();
      });`;
    const done = spawnSync(process.execPath, ['--unhandled-rejections=none', '-e', script], { encoding: 'utf8', timeout: 20000 });
    assert.match(done.stdout, /^pte-emit: cannot start .*dies: /m, done.stderr);
  });

  check('data that appear and disappear change the messages', async (start) => {
    const { state, root, write, found } = await start();
    const made = state.open(write('m.pte.yaml', WITH_DATA));
    await until('a message', () => found(made)?.length > 0);
    const target = Uri.file(path.join(root, 'w.bin'));
    await state.providers.links.provideDocumentLinks(made, { isCancellationRequested: false, onCancellationRequested() {} });
    assert.deepStrictEqual(state.watchers.map(({ pattern }) => [pattern.base.fsPath, pattern.pattern]), [[root, '*']]);
    const [watcher] = state.watchers;
    fs.writeFileSync(target.fsPath, Buffer.alloc(4));
    // Of a file that no text names, the server does not learn.
    watcher.Create(Uri.file(path.join(root, 'other.bin')));
    watcher.Create(target);
    await until('no message', () => found(made).length === 0);
    fs.rmSync(target.fsPath);
    watcher.Delete(target);
    await until('a message', () => found(made).length > 0);
    await state.close(made);
    assert.deepStrictEqual(state.watchers, []);
  });

  check('operators are completed with their signature in view', async (start) => {
    const { state, write, found } = await start();
    const text = 'methods:\n  forward:\n    instructions:\n      - {kernel: aten::addmm';
    const made = state.open(write('m.pte.yaml', text));
    await until('messages', () => found(made));
    const position = { line: 3, character: text.split('\n')[3].length };
    const items = await state.providers.completions.provideCompletionItems(made, position, { isCancellationRequested: false, onCancellationRequested() {} }, {});
    const all = items.items ?? items;
    assert.match(all[0].insertText.value, /aten::addmm\.out, args: \[/);
    assert.strictEqual(all[0].command.command, 'editor.action.triggerParameterHints');
  });

  check('what a command prints is in the output, and a report beside the text, again after it is saved', async (start) => {
    const { vscode, state, write, found, active } = await start();
    const made = state.open(write('m.pte.yaml', PROGRAM));
    const uri = made.uri.toString();
    await until('messages', () => found(made));
    await state.commands['pte-emit.memory'](uri, 'forward');
    assert.match(state.output.join(), /^> pte-emit memory m\.pte\.yaml forward\n.*method allocator/s);
    active(made);
    await state.commands['pte-emit.showReport']();
    assert.strictEqual(state.panels[0].title, 'm.pte.yaml: report');
    assert.match(state.panels[0].webview.html, /<style>:root \{ color-scheme: light; \}.*code, kbd \{ background: none;/);
    const first = state.panels[0].webview.html;
    vscode.window.activeColorTheme.kind = vscode.ColorThemeKind.Dark;
    await state.fire('onDidChangeActiveColorTheme');
    assert.match(state.panels[0].webview.html, /<style>:root \{ color-scheme: dark; \}/);
    assert.doesNotMatch(state.panels[0].webview.html, /prefers-color-scheme/);
    // The text is saved with another content, and with an error: then the former report stays, and nothing opens.
    for (const [text, isNew] of [[PROGRAM.replace('7', '77'), true], ['methods: 1\n', false]]) {
      const before = state.panels[0].webview.html;
      fs.writeFileSync(made.fileName, text);
      await state.fire('onDidSaveTextDocument', made);
      assert.deepStrictEqual([state.panels.length, state.panels[0].webview.html !== before], [1, isNew]);
    }
    assert.notStrictEqual(state.panels[0].webview.html, first);
    // Asked for, the error is in the output; a command reads what is saved.
    made.isDirty = true;
    await state.commands['pte-emit.showReport']();
    assert.match(state.output.at(-1), /^> pte-emit report m\.pte\.yaml\nerror.*exit status 1/s);
    assert.strictEqual(made.isDirty, false);
    // Closed, it stays closed.
    state.panels[0].dispose();
    fs.writeFileSync(made.fileName, PROGRAM);
    await state.fire('onDidSaveTextDocument', made);
    assert.strictEqual(state.panels.length, 1);
  });

  check('a report keeps its open view and how far it is scrolled', async (start) => {
    const { state, write, active } = await start();
    active(state.open(write('m.pte.yaml', PROGRAM)));
    await state.commands['pte-emit.showReport']();
    const [, script] = /<script>(.*?)<\/script><\/head>/s.exec(state.panels[0].webview.html);
    // A page of the editor, with what the former one has kept.
    const opened = (kept) => {
      const page = { kept, events: {}, tops: [], location: { hash: '' } };
      const change = (_, __, address) => (page.location.hash = address);
      page.history = { pushState: change, replaceState: change };
      page.addEventListener = (name, run) => (page.events[name] = run);
      page.requestAnimationFrame = (run) => run();
      page.document = { getElementsByClassName: (name) => [{ scrollTo: (_, top) => page.tops.push([name, top]) }] };
      page.acquireVsCodeApi = () => ({ getState: () => page.kept, setState: (state) => (page.kept = structuredClone(state)) });
      vm.runInNewContext(script, page);
      return page;
    };
    const first = opened(undefined);
    first.events.DOMContentLoaded();
    first.history.pushState(null, '', '#tab=text');
    first.events.scroll({ target: { className: 'code', scrollTop: 70 } });
    const next = opened(first.kept);
    assert.strictEqual(next.location.hash, '#tab=text');
    next.events.DOMContentLoaded();
    assert.deepStrictEqual([first.tops, next.tops], [[], [['code', 70]]]);
  });

  check('commands of the palette run on the active text, on a method that the user chooses', async (start) => {
    const { state, write, found, active } = await start();
    const both = 'methods:\n  f: {outputs: [1], values: {v: 2}}\n  g: {outputs: [2]}\n';
    const made = state.open(write('m.pte.yaml', both));
    await until('messages', () => found(made));
    await state.commands['pte-emit.runMethod']();
    assert.deepStrictEqual([state.picks, state.output], [[], []]);
    active(made);
    await state.commands['pte-emit.runMethod']();
    assert.deepStrictEqual(state.picks, [['f', 'g']]);
    await state.commands['pte-emit.runTests']();
    await state.commands['pte-emit.showMemory']();
    assert.deepStrictEqual(state.output.map((text) => text.split('\n')[0]), ['> pte-emit run m.pte.yaml g', '> pte-emit test m.pte.yaml *', '> pte-emit memory m.pte.yaml']);
    assert.match(state.output[2], /method allocator/);
    // The only method is not asked for, and a text without one is no program.
    active(state.open(write('one.pte.yaml', PROGRAM)));
    await state.commands['pte-emit.runMethod']();
    assert.match(state.output[3], /^> pte-emit run one\.pte\.yaml forward\n/);
    active(state.open(write('none.ptd.yaml', 'named_data: {}\n')));
    await state.commands['pte-emit.runMethod']();
    assert.deepStrictEqual([state.picks.length, state.output.length, state.messages.at(-1)], [1, 4, 'pte-emit: the text has no method']);
    await state.commands['pte-emit.installRuntime']();
    assert.deepStrictEqual(state.terminals, [[`${COMMAND} runner install`, false]]);
  });

  check('a new text is saved under a name before a command', async (start) => {
    const { state, write, found } = await start();
    const made = state.open(document(new Uri('untitled', 'Untitled-1'), PROGRAM));
    await until('messages', () => found(made));
    await state.commands['pte-emit.memory'](made.uri.toString(), 'forward');
    assert.deepStrictEqual(state.output, []);
    state.savedAs = write('new.pte.yaml', PROGRAM).uri;
    await state.commands['pte-emit.memory'](made.uri.toString(), 'forward');
    assert.match(state.output[0], /> pte-emit memory new\.pte\.yaml/);
  });

  check('a text is assembled beside itself, with the settings', async (start) => {
    const { state, root, write, active } = await start({ 'pte-emit.definitions': { N: '3' } });
    active(write('-m.pte.yaml', PROGRAM.replace('7', '${N}')));
    await state.commands['pte-emit.assemble']();
    assert.match(state.output[0], /^> pte-emit -m\.pte\.yaml -o -m\.pte\n.*-m\.pte: \d+ bytes/s);
    assert.match(spawnSync(COMMAND, ['dump', './-m.pte'], { cwd: root, encoding: 'utf8' }).stdout, /outputs: \[3\]/);
    active(write('j.pte.json', '{"methods": {"f": {"outputs": [1]}}}'));
    await state.commands['pte-emit.assemble']();
    assert.match(state.output[1], /^> pte-emit j\.pte\.json -o j\.pte\n.*j\.pte: \d+ bytes/s);
    fs.mkdirSync(path.join(root, 'data'));
    state.settings['pte-emit.confine'] = 'data';
    active(write('w.yaml', WITH_DATA));
    await state.commands['pte-emit.assemble']();
    assert.match(state.output[2], /^> pte-emit w\.yaml -o w\.pte\nerror.*confined.*exit status/s);
    assert.ok(!fs.existsSync(path.join(root, 'w.pte')));
    state.settings['pte-emit.path'] = '/nowhere/pte-emit';
    await state.commands['pte-emit.assemble']();
    assert.match(state.messages[0], /is not found: install it/);
  });

  check('the runtime is offered if there is none', async (start) => {
    const { state, write, root } = await start();
    const quiet = path.join(root, 'with space');
    fs.writeFileSync(quiet, `#!/bin/sh\nPTE_EMIT_RUNNER= XDG_CACHE_HOME='${root}' HOME='${root}' exec '${COMMAND}' "$@"\n`, { mode: 0o755 });
    Object.assign(state.settings, { 'pte-emit.path': quiet });
    await state.commands['pte-emit.restart']();
    const made = write('m.pte.yaml', PROGRAM);
    state.answer = 'Install in Terminal';
    await state.commands['pte-emit.run'](made.uri.toString(), 'forward');
    await until('a message', () => state.messages.length > 0);
    // The user confirms it.
    assert.deepStrictEqual(state.terminals, [[`"${quiet}" runner install`, false]]);
  });

  check('a program is shown as YAML beside it, and an invalid one reported', async (start) => {
    const { state, root, write, found } = await start();
    write('-x.yaml', `${PROGRAM.replace('{outputs', '{values: {w: {tensor: int32, sizes: [16384], data: {file: w.bin}}}, outputs').replace('7', 'w')}`);
    fs.writeFileSync(path.join(root, 'w.bin'), Buffer.alloc(1 << 16, 1));
    const done = spawnSync(COMMAND, ['./-x.yaml', '-o', './-x.pte'], { cwd: root });
    assert.strictEqual(done.status, 0, done.stderr?.toString());
    await state.commands['pte-emit.dump'](Uri.file(path.join(root, '-x.pte')));
    assert.strictEqual(state.shown[0].languageId, 'pte-emit');
    assert.strictEqual(state.shown[0].uri.toString(), new Uri('untitled', path.join(root, '-x.pte.yaml')).toString());
    // Its large data are those of the file beside it.
    assert.match(state.shown[0].text, /^files: \{.*-x\.pte/m);
    await state.fire('onDidOpenTextDocument', state.shown[0]);
    await until('messages', () => found(state.shown[0]));
    assert.deepStrictEqual(found(state.shown[0]).filter((message) => /cannot read/.test(message)), []);
    // After it is saved, or assembled from there, its name is taken.
    write('-x.pte.yaml', state.shown[0].text);
    await state.commands['pte-emit.dump'](Uri.file(path.join(root, '-x.pte')));
    assert.strictEqual(state.shown[1].uri.toString(), new Uri('untitled', path.join(root, '-x.pte.2.yaml')).toString());
    assert.deepStrictEqual([state.shown[1].text, state.messages], [state.shown[0].text, []]);
    await state.commands['pte-emit.dump']();
    write('junk.pte', 'junk');
    state.chosen = [Uri.file(path.join(root, 'junk.pte'))];
    await state.commands['pte-emit.dump']();
    assert.match(state.messages[0], /junk\.pte/);
  });

  check('the manifest names the commands', async (start) => {
    const { state } = await start();
    const own = Object.keys(state.commands).filter((command) => !['run', 'test', 'bless', 'memory', 'report', 'moveData'].some((of) => command === `pte-emit.${of}`));
    assert.deepStrictEqual(own.sort(), manifest.contributes.commands.map(({ command }) => command).sort());
  });
}

function isRunning(id) {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

// Returns the messages that the server shows for these settings.
async function complaints(settings) {
  const server = spawn(COMMAND, ['lsp']);
  const send = (message) => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  let out = '';
  server.stdout.on('data', (data) => (out += data));
  send({ id: 1, method: 'initialize', params: { capabilities: {}, initializationOptions: settings } });
  send({ method: 'initialized', params: {} });
  send({ id: 2, method: 'shutdown' });
  send({ method: 'exit' });
  await new Promise((resolve) => server.on('close', resolve));
  return [...out.matchAll(/"message":"(.*?)"/g)].map(([, message]) => message);
}

test('the settings are those of the server', async () => {
  const { properties } = manifest.contributes.configuration;
  const [unknown] = await complaints({ nothing: 1 });
  const known = /unknown setting `nothing`: expected one of (.*)/.exec(unknown)[1].split(', ');
  // `path` is the command, which the extension itself starts.
  assert.deepStrictEqual(Object.keys(properties).sort(), [...known, 'path'].map((setting) => `pte-emit.${setting}`).sort());
  const [hints] = await complaints({ hints: 1 });
  assert.deepStrictEqual(Object.keys(properties['pte-emit.hints'].properties), [...hints.matchAll(/`(\w+)`/g)].slice(1).map(([, hint]) => hint));
  const defaults = Object.fromEntries(Object.entries(properties).map(([key, { default: value }]) => [key.replace('pte-emit.', ''), value]));
  assert.deepStrictEqual(await complaints(defaults), []);
});

test('the manifest names what exists', () => {
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
  const [{ filenamePatterns }] = manifest.contributes.languages;
  const named = ['pte', 'ptd'].flatMap((kind) => ['yaml', 'yml', 'json'].map((end) => `*.${kind}.${end}`));
  assert.deepStrictEqual([...filenamePatterns].sort(), named.sort());
  // Words without quotes are strings of the grammar of YAML.
  assert.deepStrictEqual(manifest.contributes.configurationDefaults['[pte-emit]']['editor.quickSuggestions'], { other: true, comments: false, strings: true });
  const workspace = fs.readFileSync(path.join(__dirname, '../../../Cargo.toml'), 'utf8');
  assert.ok(workspace.includes(`version = "${manifest.version}"`), 'the version of the extension is that of the crates');
  assert.ok(workspace.includes(`repository = "${manifest.repository.url}"`), 'and the address of the repository, too');
});
