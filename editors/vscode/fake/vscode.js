// A stand-in for the module `vscode`, which only the editor has: what the extension and the client of the protocol use of
// it, with what it was called with. Classes and functions that no test looks at are generic.
'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const nodePath = require('node:path');

// A missing function of a namespace: an event, or one that registers something.
const disposable = () => ({ dispose() {} });
const generic = (known) => new Proxy(known, { get: (all, name) => (name in all ? all[name] : disposable) });

class Uri {
  constructor(scheme, path) {
    Object.assign(this, { scheme, path, fsPath: path });
  }
  static file = (path) => new Uri('file', path);
  static parse(text) {
    const [, scheme, path] = /^([a-z]+):(?:\/\/[^/]*)?(.*)$/.exec(text);
    return new Uri(scheme, decodeURIComponent(path));
  }
  with = (change) => new Uri(change.scheme ?? this.scheme, change.path ?? this.path);
  toString = () => `${this.scheme}:${this.path.startsWith('/') ? '//' : ''}${this.path.split('/').map(encodeURIComponent).join('/')}`;
}

class EventEmitter {
  listeners = new Set();
  event = (run, self) => (this.listeners.add((value) => run.call(self, value)), disposable());
  fire = (value) => Promise.all([...this.listeners].map((run) => run(value)));
  dispose() {}
}

class Disposable {
  constructor(dispose) {
    this.dispose = dispose;
  }
  static from = (...all) => new Disposable(() => all.forEach((one) => one.dispose()));
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: disposable };
  cancel() {}
  dispose() {}
}

class Range {
  constructor(...values) {
    this.values = values;
  }
}
class Position extends Range {}
class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}
class DocumentLink {
  constructor(range, target) {
    Object.assign(this, { range, target });
  }
}
class CompletionList {
  constructor(items) {
    this.items = items;
  }
}
class SnippetString {
  constructor(value) {
    this.value = value;
  }
}
class WorkspaceEdit {
  replace(uri, range, text) {
    Object.assign(this, { uri, text });
  }
}

// Returns the module, and `state`: settings, registered functions, messages, and what is shown.
function fake(settings, folders = []) {
  const state = { settings, commands: {}, executed: [], messages: [], warnings: [], answer: undefined, opened: [], shown: [], chosen: undefined };
  Object.assign(state, { output: [], panels: [], languages: [], diagnostics: new Map(), providers: {}, watchers: [], terminals: [], savedAs: undefined, picks: [] });
  const events = {};
  for (const name of ['Open', 'Close', 'Save', 'Change']) events[`onDid${name}TextDocument`] = new EventEmitter();
  for (const name of ['Configuration', 'WorkspaceFolders', 'ActiveColorTheme']) events[`onDidChange${name}`] = new EventEmitter();
  state.fire = (name, value) => events[name].fire(value);
  const on = Object.fromEntries(Object.entries(events).map(([name, { event }]) => [name, event]));
  const provide = (name) => (_, provider) => ((state.providers[name] = provider), disposable());
  const watcher = (pattern) => {
    const made = { pattern, dispose: () => state.watchers.splice(state.watchers.indexOf(made), 1) };
    for (const name of ['onDidCreate', 'onDidChange', 'onDidDelete']) made[name] = (run) => (made[name.slice(5)] = run);
    state.watchers.push(made);
    return made;
  };
  const workspace = generic({
    ...on,
    textDocuments: [],
    notebookDocuments: [],
    workspaceFolders: folders.map((folder, index) => ({ uri: Uri.file(folder), name: nodePath.basename(folder), index })),
    getConfiguration: (section) => ({ get: (key) => state.settings[section ? `${section}.${key}` : key] }),
    createFileSystemWatcher: watcher,
    // A new text has no file of its name.
    openTextDocument: async (uri) => {
      if (fs.existsSync(uri.fsPath)) throw new Error(`cannot open ${uri}. Detail: file already exists`);
      return state.open(document(uri, '', 'plaintext'));
    },
    applyEdit: async ({ uri, text }) => (state.change(workspace.textDocuments.find((made) => made.uri.path === uri.path), text), true),
    // Saves under the name that the user chooses.
    save: async (uri) => {
      const made = workspace.textDocuments.find((made) => made.uri.toString() === uri.toString());
      made.isDirty = false;
      return made.isUntitled ? state.savedAs : uri;
    },
  });
  state.open = (made) => {
    workspace.textDocuments.push(made);
    events.onDidOpenTextDocument.fire(made);
    return made;
  };
  state.change = (made, text) => {
    made.text = text;
    made.version += 1;
    return events.onDidChangeTextDocument.fire({ document: made, contentChanges: [{ text }] });
  };
  state.close = (made) => {
    workspace.textDocuments.splice(workspace.textDocuments.indexOf(made), 1);
    return events.onDidCloseTextDocument.fire(made);
  };
  const vscode = {
    version: '1.100.0',
    Uri, EventEmitter, CancellationTokenSource, Range, Position, Diagnostic, DocumentLink, CompletionList, SnippetString, WorkspaceEdit,
    Disposable,
    RelativePattern: class { constructor(base, pattern) { Object.assign(this, { base, pattern }); } },
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    ViewColumn: { Beside: -2 },
    ColorThemeKind: { Light: 1, Dark: 2, HighContrast: 3, HighContrastLight: 4 },
    ProgressLocation: { Window: 10 },
    CodeActionKind: { Empty: { append: () => vscode.CodeActionKind.Empty }, QuickFix: {}, Refactor: {} },
    env: { language: 'en', appName: 'stand-in', openExternal: (uri) => state.opened.push(uri.toString()) },
    extensions: generic({}),
    languages: generic({
      match: (selector, { uri, languageId }) =>
        [selector].flat().some(({ scheme, language }) => (!scheme || scheme === uri.scheme) && (!language || language === languageId)) ? 10 : 0,
      setTextDocumentLanguage: async (made, language) => (state.languages.push([made.fileName, language]), Object.assign(made, { languageId: language })),
      createDiagnosticCollection: () => generic({ set: (uri, found) => state.diagnostics.set(uri.toString(), found) }),
      registerDocumentLinkProvider: provide('links'),
      registerCompletionItemProvider: provide('completions'),
      registerInlayHintsProvider: provide('hints'),
    }),
    commands: {
      registerCommand: (name, run) => ((state.commands[name] = run), { dispose: () => delete state.commands[name] }),
      executeCommand: async (name, ...args) => (state.executed.push([name, ...args]), state.commands[name]?.(...args)),
    },
    workspace,
    window: generic({
      ...on,
      activeTextEditor: undefined,
      activeColorTheme: { kind: 1 },
      tabGroups: generic({ all: [] }),
      createOutputChannel: () => ({ append: (text) => state.output.push(text), appendLine: (line) => state.output.push(line), show() {}, dispose() {} }),
      createTerminal: (name) => ({ name, show() {}, sendText: (text, run) => state.terminals.push([text, run]) }),
      createWebviewPanel: (type, title) => {
        const panel = { title, webview: { html: '' }, onDidDispose: (run) => (panel.dispose = run) };
        state.panels.push(panel);
        return panel;
      },
      showErrorMessage: async (message) => (state.messages.push(message), state.answer),
      showWarningMessage: async (message) => void state.warnings.push(message),
      // The user chooses the last one.
      showQuickPick: async (items) => (state.picks.push(items), items.at(-1)),
      showOpenDialog: async () => state.chosen,
      showTextDocument: async (made) => state.shown.push(made),
      withProgress: (_, run) => run({ report() {} }, new CancellationTokenSource().token),
    }),
  };
  // Every class has a name that begins with a capital letter.
  return { state, vscode: new Proxy(vscode, { get: (all, name) => (name in all ? all[name] : /^[A-Z]/.test(String(name)) ? class {} : undefined) }) };
}

// A document of the editor.
function document(uri, text, languageId = 'pte-emit') {
  return {
    uri, text, languageId, version: 1, isDirty: false, isUntitled: uri.scheme === 'untitled', fileName: uri.fsPath,
    getText() { return this.text; },
    get lineCount() { return this.text.split('\n').length; },
  };
}

// Loads a file anew, with the client of the protocol, in the stand-in.
function load(file, vscode) {
  const usual = Module._load;
  Module._load = (request, ...rest) => (request === 'vscode' ? vscode : usual(request, ...rest));
  try {
    for (const name of Object.keys(require.cache)) if (name !== __filename && !name.endsWith('.json')) delete require.cache[name];
    return require(file);
  } finally {
    Module._load = usual;
  }
}

module.exports = { document, fake, load, Uri };
