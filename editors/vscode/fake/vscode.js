// A stand-in for the modules `vscode`, which only the editor has, and `vscode-languageclient/node`: what the extension
// uses of them, with what it was called with.
'use strict';

// Returns both modules, and `state`: settings, registered functions, clients, messages and what is shown.
function fake(settings) {
  const state = { settings, commands: {}, executed: [], clients: [], messages: [], answer: undefined, opened: [], shown: [], chosen: undefined, output: [], panels: [], languages: [] };
  const disposable = { dispose() {} };
  const on = (name) => (run) => ((state[name] = run), disposable);
  const vscode = {
    Uri: { parse: (text) => ({ fsPath: decodeURI(text.replace(/^file:\/\//, '')), path: text.replace(/^file:\/\//, ''), toString: () => text }) },
    ViewColumn: { Beside: -2 },
    env: { openExternal: (uri) => state.opened.push(uri.toString()) },
    languages: { setTextDocumentLanguage: (document, language) => state.languages.push([document.fileName, language]) },
    commands: {
      registerCommand: (name, run) => ((state.commands[name] = run), disposable),
      // Commands of the server are executed through the middleware of the client.
      executeCommand: async (name, ...args) => {
        state.executed.push([name, ...args]);
        const client = state.clients.at(-1);
        if (client?.answers[name]) return client.options.middleware.executeCommand(name, args, async () => client.answers[name]);
      },
    },
    workspace: {
      textDocuments: [],
      getConfiguration: (section) => ({ get: (key) => state.settings[`${section}.${key}`] }),
      onDidOpenTextDocument: on('open'),
      onDidSaveTextDocument: on('saved'),
      onDidChangeConfiguration: on('configured'),
      openTextDocument: async (content) => content,
    },
    window: {
      activeTextEditor: undefined,
      createOutputChannel: () => ({ appendLine: (line) => state.output.push(line), show() {}, dispose() {} }),
      createWebviewPanel: (type, title) => {
        const panel = { title, webview: { html: '' }, onDidDispose: (run) => (panel.close = run) };
        state.panels.push(panel);
        return panel;
      },
      showErrorMessage: async (message) => (state.messages.push(message), state.answer),
      showOpenDialog: async () => state.chosen,
      showTextDocument: async (document) => state.shown.push(document),
    },
  };
  class LanguageClient {
    constructor(id, name, server, options) {
      Object.assign(this, { server, options, answers: {}, running: false });
      state.clients.push(this);
    }
    async start() {
      this.running = true;
    }
    async sendRequest(_, { command }) {
      return this.answers[command];
    }
    async stop() {
      this.running = false;
    }
  }
  return { modules: { vscode, 'vscode-languageclient/node': { LanguageClient } }, vscode, state };
}

// A document of the editor, saved in a file.
function document(file, text, languageId = 'pte-emit') {
  const uri = { scheme: 'file', fsPath: file, toString: () => `file://${file}` };
  const made = { uri, fileName: file, languageId, isDirty: false, getText: () => text };
  made.save = async () => ((made.isDirty = false), true);
  return made;
}

module.exports = { document, fake };
