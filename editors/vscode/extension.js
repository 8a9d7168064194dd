// The extension: runs `pte-emit check` on programs that are saved, and shows .pte, .ptd and .bpte files as YAML. What
// needs no editor is in logic.js; completion and validation while typing are those of the YAML extension with the JSON
// Schema of pte-emit.
'use strict';

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { findings, isProgram, parse } = require('./logic.js');

// Limits of a run: time in milliseconds, and bytes of what it prints.
const LIMITS = { timeout: 60000, maxBuffer: 64 << 20 };

const SEVERITIES = {
  error: vscode.DiagnosticSeverity.Error,
  warning: vscode.DiagnosticSeverity.Warning,
  note: vscode.DiagnosticSeverity.Information,
};

// Runs pte-emit on a file, in its folder. Resolves to { status, stdout, stderr }; rejects if it cannot be run, exceeds
// a limit or is aborted.
function run(options, file, signal) {
  const command = vscode.workspace.getConfiguration('pte-emit').get('path') || 'pte-emit';
  // A name that begins with a dash is no option.
  const argument = `./${path.basename(file)}`;
  return new Promise((resolve, reject) => {
    execFile(command, [...options, argument], { ...LIMITS, cwd: path.dirname(file), signal }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') {
        const missing = error.code === 'ENOENT';
        return reject(missing ? new Error(`${command} is not found; install pte-emit, or set pte-emit.path`) : error);
      }
      resolve({ status: error ? error.code : 0, stdout, stderr });
    });
  });
}

// Findings of saved documents.
class Checks {
  constructor() {
    this.collection = vscode.languages.createDiagnosticCollection('pte-emit');
    // Runs that are not finished, by the document.
    this.running = new Map();
  }

  // Checks a document as it is on disk. A later call for the same document ends this one.
  async check(document) {
    const key = document.uri.toString();
    this.running.get(key)?.abort();
    const controller = new AbortController();
    this.running.set(key, controller);
    try {
      const bytes = fs.readFileSync(document.uri.fsPath);
      const done = await run(['check', '--format', 'json'], document.uri.fsPath, controller.signal);
      const found = findings(parse(done.stdout, done.stderr), bytes);
      if (controller.signal.aborted) return;
      this.collection.set(document.uri, found.map((finding) => diagnostic(document, finding)));
    } catch (error) {
      if (controller.signal.aborted) return;
      this.collection.delete(document.uri);
      vscode.window.showErrorMessage(`pte-emit: ${error.message}`);
    } finally {
      if (this.running.get(key) === controller) this.running.delete(key);
    }
  }

  forget(document) {
    this.running.get(document.uri.toString())?.abort();
    this.collection.delete(document.uri);
  }

  dispose() {
    this.running.forEach((controller) => controller.abort());
    this.collection.dispose();
  }
}

function diagnostic(document, finding) {
  const range = new vscode.Range(document.positionAt(finding.start), document.positionAt(finding.end));
  const shown = new vscode.Diagnostic(range, finding.message, SEVERITIES[finding.level] ?? SEVERITIES.error);
  shown.source = 'pte-emit';
  if (finding.rule !== null) shown.code = finding.rule;
  return shown;
}

// Shows a file as YAML in a new editor; large data refer to the file, so that the YAML is saved beside it.
async function dump(uri) {
  const file = uri ?? (await vscode.window.showOpenDialog({ filters: { ExecuTorch: ['pte', 'ptd', 'bpte'] } }))?.[0];
  if (!file) return;
  try {
    const done = await run(['dump'], file.fsPath);
    if (done.status !== 0) throw new Error(done.stderr.trim().slice(0, 1000));
    const document = await vscode.workspace.openTextDocument({ language: 'yaml', content: done.stdout });
    await vscode.window.showTextDocument(document);
  } catch (error) {
    vscode.window.showErrorMessage(`pte-emit: ${error.message}`);
  }
}

function activate(context) {
  const checks = new Checks();
  const isChecked = (document) =>
    document.languageId === 'yaml' && document.uri.scheme === 'file' && isProgram(document.fileName, document.getText());
  const onSave = (document) => {
    const enabled = vscode.workspace.getConfiguration('pte-emit').get('checkOnSave');
    return enabled && isChecked(document) ? checks.check(document) : undefined;
  };
  const checkNow = async () => {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.uri.scheme === 'file' && (await document.save())) await checks.check(document);
  };
  context.subscriptions.push(
    checks,
    vscode.workspace.onDidSaveTextDocument(onSave),
    vscode.workspace.onDidCloseTextDocument((document) => checks.forget(document)),
    vscode.commands.registerCommand('pte-emit.check', checkNow),
    vscode.commands.registerCommand('pte-emit.dump', dump),
  );
}

module.exports = { activate };
