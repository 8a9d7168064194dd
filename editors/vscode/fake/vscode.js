// A stand-in for the module `vscode`, which only the editor has: what the extension uses of it, with what it was called
// with.
'use strict';

class Range {
  constructor(start, end) {
    Object.assign(this, { start, end });
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

// Returns the module, and `state`: settings, registered functions, diagnostics by file, messages and shown documents.
function fake(settings) {
  const state = { settings, commands: {}, saved: null, closed: null, diagnostics: new Map(), messages: [], shown: [], chosen: undefined };
  const disposable = { dispose() {} };
  const vscode = {
    Range,
    Diagnostic,
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2 },
    languages: {
      createDiagnosticCollection: () => ({
        set: (uri, all) => state.diagnostics.set(uri.fsPath, all),
        delete: (uri) => state.diagnostics.delete(uri.fsPath),
        dispose: () => state.diagnostics.clear(),
      }),
    },
    commands: { registerCommand: (name, run) => ((state.commands[name] = run), disposable) },
    workspace: {
      getConfiguration: (section) => ({ get: (key) => state.settings[`${section}.${key}`] }),
      onDidSaveTextDocument: (run) => ((state.saved = run), disposable),
      onDidCloseTextDocument: (run) => ((state.closed = run), disposable),
      openTextDocument: async (content) => content,
    },
    window: {
      activeTextEditor: undefined,
      showErrorMessage: (message) => state.messages.push(message),
      showOpenDialog: async () => state.chosen,
      showTextDocument: async (document) => state.shown.push(document),
    },
  };
  return { vscode, state };
}

// A document of the editor, saved in a file.
function document(file, text, languageId = 'yaml') {
  return {
    uri: { scheme: 'file', fsPath: file, toString: () => `file://${file}` },
    fileName: file,
    languageId,
    getText: () => text,
    save: async () => true,
    positionAt(offset) {
      const before = text.slice(0, offset).split('\n');
      return { line: before.length - 1, character: before.at(-1).length };
    },
  };
}

module.exports = { document, fake };
