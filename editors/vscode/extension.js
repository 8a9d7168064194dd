// The extension: starts `pte-emit lsp` for programs and weights in YAML, shows reports beside the text, what commands of
// the server print, and .pte, .ptd and .bpte files as YAML. The server knows everything about the text.
'use strict';

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { CloseAction, ErrorAction, LanguageClient } = require('vscode-languageclient/node');

const LANGUAGE = 'pte-emit';

// Texts of files, and new ones. Those of a comparison (`git:`) are left out: the server finds the files of a text by its
// path, so it would report data that the other revision has, and show each message of the file twice.
const SELECTOR = ['file', 'untitled'].map((scheme) => ({ scheme, language: LANGUAGE }));

// The line by which `pte-emit dump` names the schema; the examples of the repository name the file beside them.
const SCHEMA_LINE = /^#\s*yaml-language-server:\s*\$schema=\S*pte-emit\.schema\.json\s*$/m;

const INSTALL = 'https://github.com/pte-emit/pte-emit/blob/HEAD/docs/install.md';
// The command that installs what executes programs, as `run` and `test` name it if there is none.
const RUNNER = 'runner install';
const INSTALL_COMMAND = 'cargo install pte-emit --locked';

// The kind of symbols that are methods, in the protocol.
const METHOD = 6;

// Limits of a run: time in milliseconds, and bytes of what it prints.
const LIMITS = { timeout: 60000, maxBuffer: 64 << 20 };

// Milliseconds in which changes of data are reported to the server together.
const TOGETHER = 200;

const setting = (name) => vscode.workspace.getConfiguration('pte-emit').get(name);
const command = () => setting('path') || 'pte-emit';
const isText = (document) => vscode.languages.match(SELECTOR, document) > 0;

// Runs pte-emit. Resolves to what it prints; rejects with `code`, the exit status or a word, and `stderr`.
const run = (args, cwd) =>
  new Promise((resolve, reject) => {
    const done = (error, stdout, stderr) => (error ? reject(Object.assign(error, { stderr })) : resolve({ stdout, stderr }));
    execFile(command(), args, { ...LIMITS, cwd }, done);
  });

// Returns what is wrong with the command. The client of the protocol says only that there is no connection.
async function problem() {
  try {
    if (/\blsp\b/.test((await run(['lsp', '--help'])).stdout)) return undefined;
    return `${command()} is not pte-emit: set pte-emit.path`;
  } catch (error) {
    if (typeof error.code === 'number') return `${command()} has no language server: install a newer version with \`${INSTALL_COMMAND}\``;
    if (error.code !== 'ENOENT') return `cannot start ${command()}: ${error.message}`;
    return `${command()} is not found: install it with \`${INSTALL_COMMAND}\`, or set pte-emit.path`;
  }
}

// The URI that the server knows a text by. A text that is not saved yet, but has a path, is found by it, with its data.
const isPlanned = (uri) => uri.scheme === 'untitled' && uri.path.startsWith('/');
const toServer = (uri) => (isPlanned(uri) ? uri.with({ scheme: 'file' }) : uri).toString();
const openText = (text) => vscode.workspace.textDocuments.find(({ uri }) => toServer(uri) === text);
const toEditor = (text) => (openText(text)?.uri ?? vscode.Uri.parse(text));

// Saves a text, which commands read from its file. Returns the file; a new text gets a name, which the user may choose.
const savedFile = async (document, uri) => (document?.isDirty || document?.isUntitled ? vscode.workspace.save(document.uri) : uri);
// Shows a title while something runs.
const during = (title, task) => vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, task);

// Runs in a page of a report: its address, which says what is open in it, and how far its lists are scrolled stay when
// another page takes its place.
function keepView() {
  const editor = acquireVsCodeApi();
  const { address, scrolled } = editor.getState() ?? {};
  // By the class of the list, which a page has once.
  const lists = {};
  const keep = () => editor.setState({ address: location.hash, scrolled: lists });
  if (address) history.replaceState(null, '', address);
  for (const name of ['pushState', 'replaceState']) {
    const usual = history[name].bind(history);
    history[name] = (...change) => (usual(...change), keep());
  }
  const restore = () => {
    for (const [name, top] of Object.entries(scrolled ?? {})) document.getElementsByClassName(name)[0]?.scrollTo(0, top);
    addEventListener('scroll', ({ target }) => target.className && ((lists[target.className] = target.scrollTop), keep()), true);
  };
  // Lists begin at their start after the first frame.
  addEventListener('DOMContentLoaded', () => requestAnimationFrame(() => requestAnimationFrame(restore)));
}

// What the editor's style would change: it pads pages, and has boxes around code.
const RESET = 'body, code, kbd { padding: 0; } code, kbd { background: none; border: 0; box-shadow: none; } code { color: inherit; }';

// A feature of a client without which the server would have all files of the workspace watched: `Data` watches those that
// texts name, also elsewhere.
const OWN_WATCHERS = {
  fillClientCapabilities: ({ workspace }) => (workspace.didChangeWatchedFiles.dynamicRegistration = false),
  initialize() {},
  getState: () => ({ kind: 'static' }),
  clear() {},
};

// The language server, what its commands answer, and reports.
class Server {
  constructor(settings) {
    this.settings = settings;
    this.output = vscode.window.createOutputChannel('pte-emit');
    // Panels of reports by the URI of their text, and the pages in them.
    this.panels = new Map();
    this.pages = new WeakMap();
    this.data = new Data((changes) => this.notify('workspace/didChangeWatchedFiles', { changes }));
    this.last = Promise.resolve();
  }

  // Starts the server, or starts it again. One start ends before the next one begins.
  restart() {
    this.last = this.last.then(async () => {
      await this.stop();
      await this.start();
    });
    return this.last;
  }

  async start() {
    const message = await problem();
    // Not awaited: the message stays until the user answers it.
    if (message) return void this.reportMissing(message);
    const middleware = {
      executeCommand: (name, args, next) => this.execute(name, args, next),
      provideDocumentLinks: async (document, token, next) => {
        const links = await next(document, token);
        this.data.watch(document, links ?? []);
        return links;
      },
      // The places of an operator are filled in with its signature in view.
      provideCompletionItem: async (document, position, context, token, next) => {
        const found = await next(document, position, context, token);
        for (const item of found?.items ?? found ?? []) {
          if (item.insertText instanceof vscode.SnippetString) item.command = { command: 'editor.action.triggerParameterHints', title: 'Signature' };
        }
        return found;
      },
    };
    const options = {
      documentSelector: SELECTOR,
      initializationOptions: this.values(),
      uriConverters: { code2Protocol: toServer, protocol2Code: toEditor },
      outputChannel: this.output,
      middleware,
      // Reported below, with what to do.
      initializationFailedHandler: () => false,
    };
    // The client waits for ever for a server that ends before it answers.
    const ended = new Promise((_, reject) => {
      options.errorHandler = {
        error: (...problem) => (this.client ? usual.error(...problem) : { action: ErrorAction.Continue, handled: true }),
        closed: () => (this.client ? this.crashed(usual.closed()) : (reject(new Error('the server has ended')), { action: CloseAction.DoNotRestart, handled: true })),
      };
    });
    const client = new LanguageClient('pte-emit', 'pte-emit', { command: command(), args: ['lsp'] }, options);
    const usual = client.createDefaultErrorHandler();
    client.registerFeature(OWN_WATCHERS);
    try {
      await Promise.race([client.start(), ended]);
      if (!client.isRunning()) await ended;
      this.client = client;
    } catch (error) {
      void this.reportMissing(`cannot start ${command()}: ${error?.message ?? error ?? 'no connection'}`);
    }
  }

  // The client starts a server again that has crashed, some times.
  crashed(decision) {
    if (decision.action === CloseAction.Restart) return decision;
    void this.report(decision.message, { 'Show Output': () => this.output.show(), 'Try Again': () => this.restart() });
    return { ...decision, handled: true };
  }

  async stop() {
    const client = this.client;
    this.client = undefined;
    await client?.stop().catch(() => undefined);
  }

  // Reports an error, with what the user may do.
  async report(message, actions) {
    const answer = await vscode.window.showErrorMessage(`pte-emit: ${message}`, ...Object.keys(actions));
    await actions[answer]?.();
  }

  // Reports a command that cannot be started.
  reportMissing(message) {
    return this.report(message, {
      'How to Install': () => vscode.env.openExternal(vscode.Uri.parse(INSTALL)),
      'Set Its Path': () => vscode.commands.executeCommand('workbench.action.openSettings', 'pte-emit.path'),
      'Try Again': () => this.restart(),
    });
  }

  // Reports that nothing executes programs yet.
  reportRunner() {
    return this.report('no runtime of ExecuTorch is installed, which executes programs', { 'Install in Terminal': installRuntime });
  }

  // Settings of the server.
  values() {
    return Object.fromEntries(this.settings.map((name) => [name, setting(name) ?? null]));
  }

  configure(change) {
    if (change.affectsConfiguration('pte-emit.path')) return this.restart();
    if (!change.affectsConfiguration('pte-emit')) return undefined;
    return this.sendSettings();
  }

  sendSettings() {
    return this.notify('workspace/didChangeConfiguration', { settings: { 'pte-emit': this.values() } });
  }

  // Tells the server about a change that is in no text.
  async notify(method, params) {
    if (this.client?.isRunning()) await this.client.sendNotification(method, params);
  }

  // Runs a command of the server on a file, after the text is saved, and shows its answer.
  async execute(name, args, next) {
    // The server changes the text.
    if (name === 'pte-emit.moveData') return next(name, args);
    const [text, method] = args;
    const file = await savedFile(openText(text), vscode.Uri.parse(text));
    if (!file) return undefined;
    const uri = file.toString();
    const words = name.replace('pte-emit.', 'pte-emit ').replace('bless', 'test --bless');
    const title = [words, path.basename(file.path), method].filter(Boolean).join(' ');
    const answer = await during(title, () => next(name, [uri, method]));
    if (answer?.file) return this.showPage(uri, answer.file);
    if (!answer) return undefined;
    if (answer.text.includes(RUNNER)) void this.reportRunner();
    this.print(title, answer.text, answer.status);
    return answer;
  }

  print(title, text, status) {
    this.output.appendLine(`> ${title}\n${text}${status === 0 ? '' : `exit status ${status ?? 'unknown'}\n`}`);
    this.output.show(true);
  }

  // Assembles a text into the file that its name is of: m.pte.yaml into m.pte, m.yaml into m.pte.
  async assemble(document) {
    if (!document || !isText(document)) return;
    const file = await savedFile(document, document.uri);
    if (!file) return;
    const name = path.basename(file.fsPath);
    const [stem] = name.split(/\.(?:ya?ml|json)$/);
    const output = /\.(pte|ptd|bpte)$/.test(stem) ? stem : `${stem}.pte`;
    const title = `pte-emit ${name} -o ${output}`;
    const defined = Object.entries(setting('definitions') ?? {}).map(([variable, value]) => `--define=${variable}=${value}`);
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
    const confined = setting('confine') ? [`--confine=${path.resolve(folder, setting('confine'))}`] : [];
    // A name that begins with a dash is no option.
    const args = ['assemble', ...defined, ...confined, `./${name}`, '-o', `./${output}`];
    try {
      const { stdout, stderr } = await during(title, () => run(args, path.dirname(file.fsPath)));
      this.print(title, stdout + stderr, 0);
    } catch (error) {
      if (typeof error.code === 'number') this.print(title, error.stderr, error.code);
      else await this.reportMissing((await problem()) ?? error.message);
    }
  }

  // Runs a command of the server on a text, and on what `choose` returns; nothing if that is no method.
  async runOn(document, name, choose) {
    if (!document || !isText(document)) return;
    // The server may be starting.
    await this.last;
    if (!this.client?.isRunning()) return this.restart();
    const uri = toServer(document.uri);
    const method = await choose(uri);
    if (method !== undefined) await vscode.commands.executeCommand(name, uri, method);
  }

  // Returns the method of a text that the user chooses, or the only one.
  async method(uri) {
    const symbols = await this.client.sendRequest('textDocument/documentSymbol', { textDocument: { uri } });
    const methods = symbols.flatMap((symbol) => [symbol, ...symbol.children]).filter(({ kind }) => kind === METHOD);
    if (methods.length === 0) return void vscode.window.showErrorMessage('pte-emit: the text has no method');
    return methods.length === 1 ? methods[0].name : vscode.window.showQuickPick(methods.map(({ name }) => name), { title: 'Method to run' });
  }

  showPage(uri, file) {
    const page = vscode.Uri.parse(file).fsPath;
    let html;
    try {
      html = fs.readFileSync(page, 'utf8');
      fs.rmSync(page, { force: true });
    } catch (error) {
      return void vscode.window.showErrorMessage(`pte-emit: cannot read the report: ${error.message}`);
    }
    let panel = this.panels.get(uri);
    if (!panel) {
      const title = `${path.basename(vscode.Uri.parse(uri).path)}: report`;
      const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      const options = { enableScripts: true, enableFindWidget: true, retainContextWhenHidden: true, localResourceRoots: [] };
      panel = vscode.window.createWebviewPanel('pte-emit.report', title, place, options);
      panel.onDidDispose(() => this.panels.delete(uri));
      this.panels.set(uri, panel);
    }
    this.pages.set(panel, html);
    this.draw(panel);
  }

  // Shows the page of a panel in the colours of the editor.
  draw(panel) {
    const isDark = [vscode.ColorThemeKind.Dark, vscode.ColorThemeKind.HighContrast].includes(vscode.window.activeColorTheme.kind);
    const page = this.pages.get(panel).replaceAll(/\(prefers-color-scheme:\s*dark\)/g, isDark ? '(min-width: 0)' : '(max-width: 0)');
    const style = `<style>:root { color-scheme: ${isDark ? 'dark' : 'light'}; } ${RESET}</style>`;
    panel.webview.html = page.replace('</head>', () => `${style}<script>(${keepView})()</script></head>`);
  }

  // Draws the report of a saved text again, if it is shown. One of a text with errors stays as it is.
  async update(document) {
    const uri = toServer(document.uri);
    if (!this.panels.has(uri) || !this.client?.isRunning()) return;
    const params = { command: 'pte-emit.report', arguments: [uri, ''] };
    const answer = await this.client.sendRequest('workspace/executeCommand', params).catch(() => undefined);
    if (answer?.file && this.panels.has(uri)) this.showPage(uri, answer.file);
  }

  async dispose() {
    this.data.dispose();
    this.panels.forEach((panel) => panel.dispose());
    await this.last;
    await this.stop();
    this.output.dispose();
  }
}

// Files that texts refer to, as the links of the texts name them: the server reads them again when one changes,
// appears or disappears.
class Data {
  constructor(changed) {
    this.changed = changed;
    this.files = new Map();
    this.watchers = new Map();
    this.changes = [];
  }

  // Watches the folders of the files of a text.
  watch(document, links) {
    this.files.set(document.uri.toString(), new Set(links.map(({ target }) => target?.toString())));
    for (const { target } of links) {
      const folder = target && path.dirname(target.fsPath);
      if (!folder || this.watchers.has(folder)) continue;
      const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.file(folder), '*'));
      watcher.onDidCreate((uri) => this.add(uri, 1));
      watcher.onDidChange((uri) => this.add(uri, 2));
      watcher.onDidDelete((uri) => this.add(uri, 3));
      this.watchers.set(folder, watcher);
    }
  }

  forget(document) {
    this.files.delete(document.uri.toString());
    if (this.files.size === 0) this.dispose();
  }

  // `type` is a FileChangeType of the protocol.
  add(uri, type) {
    const name = uri.toString();
    if (![...this.files.values()].some((files) => files.has(name))) return;
    this.changes.push({ uri: name, type });
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.changed(this.changes.splice(0));
    }, TOGETHER);
  }

  dispose() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.watchers.forEach((watcher) => watcher.dispose());
    this.watchers.clear();
  }
}

// Types the command that installs a runtime. The user confirms it.
function installRuntime() {
  const terminal = vscode.window.createTerminal('pte-emit');
  terminal.show();
  terminal.sendText(`${/\s/.test(command()) ? `"${command()}"` : command()} ${RUNNER}`, false);
}

// Returns the name of a new text beside a file, which no file has: m.pte.yaml, or m.pte.2.yaml.
function newTextOf(file) {
  for (let number = 1; ; number += 1) {
    const target = file.with({ path: `${file.path}${number > 1 ? `.${number}` : ''}.yaml` });
    if (!fs.existsSync(target.fsPath)) return target.with({ scheme: 'untitled' });
  }
}

// Shows a file as YAML in a new editor. Large data refer to the file: the text has a path beside it.
async function dump(server, uri) {
  const file = uri ?? (await vscode.window.showOpenDialog({ filters: { ExecuTorch: ['pte', 'ptd', 'bpte'] } }))?.[0];
  if (!file) return;
  try {
    // A name that begins with a dash is no option.
    const { stdout: content } = await run(['dump', `./${path.basename(file.fsPath)}`], path.dirname(file.fsPath));
    const target = newTextOf(file);
    const document = await vscode.workspace.openTextDocument(target);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(target, new vscode.Range(0, 0, document.lineCount, 0), content);
    await vscode.workspace.applyEdit(edit);
    await vscode.window.showTextDocument(await vscode.languages.setTextDocumentLanguage(document, LANGUAGE));
  } catch (error) {
    const message = error.code === 'ENOENT' ? await problem() : undefined;
    if (message) await server.reportMissing(message);
    else vscode.window.showErrorMessage(`pte-emit: ${(error.stderr || error.message).trim().slice(0, 1000)}`);
  }
}

// Gives YAML that names the schema the language of the server, once: the language that the user chooses then stays.
function recognizer() {
  const known = new Set();
  return (document) => {
    const uri = document.uri.toString();
    if (document.languageId !== 'yaml' || known.has(uri) || !SCHEMA_LINE.test(document.getText().slice(0, 4096))) return;
    known.add(uri);
    vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
  };
}

async function activate(context) {
  const { properties } = context.extension.packageJSON.contributes.configuration;
  const names = Object.keys(properties).map((name) => name.replace('pte-emit.', ''));
  // The command is the only setting of the extension itself.
  const server = new Server(names.filter((name) => name !== 'path'));
  const recognize = recognizer();
  const active = () => vscode.window.activeTextEditor?.document;
  context.subscriptions.push(
    server,
    vscode.workspace.onDidOpenTextDocument(recognize),
    vscode.workspace.onDidCloseTextDocument((document) => server.data.forget(document)),
    vscode.workspace.onDidSaveTextDocument((document) => server.update(document)),
    vscode.workspace.onDidChangeConfiguration((change) => server.configure(change)),
    vscode.window.onDidChangeActiveColorTheme(() => server.panels.forEach((panel) => server.draw(panel))),
    // Relative settings are found from the first folder.
    vscode.workspace.onDidChangeWorkspaceFolders(() => server.sendSettings()),
    ...Object.entries({
      assemble: () => server.assemble(active()),
      showReport: () => server.runOn(active(), 'pte-emit.report', () => ''),
      runMethod: () => server.runOn(active(), 'pte-emit.run', (uri) => server.method(uri)),
      // Those of all methods.
      runTests: () => server.runOn(active(), 'pte-emit.test', () => '*'),
      showMemory: () => server.runOn(active(), 'pte-emit.memory', () => ''),
      installRuntime,
      restart: () => server.restart(),
      dump: (uri) => dump(server, uri),
    }).map(([name, run]) => vscode.commands.registerCommand(`pte-emit.${name}`, run)),
  );
  vscode.workspace.textDocuments.forEach(recognize);
  await server.restart();
}

module.exports = { activate, SCHEMA_LINE };
