// The extension: starts `pte-emit lsp` for programs and weights in YAML, shows reports beside the text, what commands of
// the server print, and .pte, .ptd and .bpte files as YAML. The server knows everything about the text.
'use strict';

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

const LANGUAGE = 'pte-emit';

// The line by which `pte-emit dump` names the schema; the examples of the repository name the file beside them.
const SCHEMA_LINE = /^#\s*yaml-language-server:\s*\$schema=\S*pte-emit\.schema\.json\s*$/m;

const INSTALL = 'https://github.com/pte-emit/pte-emit/blob/HEAD/docs/install.md';
const INSTALL_COMMAND = 'cargo install pte-emit --locked';

// Limits of a run: time in milliseconds, and bytes of what it prints.
const LIMITS = { timeout: 60000, maxBuffer: 64 << 20 };

const setting = (name) => vscode.workspace.getConfiguration('pte-emit').get(name);
const command = () => setting('path') || 'pte-emit';

// Runs pte-emit. Resolves to its output; rejects with `code`, the exit status or a word, and `stderr`.
const run = (args, cwd) =>
  new Promise((resolve, reject) => {
    execFile(command(), args, { ...LIMITS, cwd }, (error, stdout, stderr) => (error ? reject(Object.assign(error, { stderr })) : resolve(stdout)));
  });

// Returns what is wrong with the command. The client of the protocol says only that there is no connection.
async function problem() {
  try {
    await run(['lsp', '--help']);
    return undefined;
  } catch (error) {
    if (typeof error.code === 'number') return `${command()} has no language server: install a newer version with \`${INSTALL_COMMAND}\``;
    if (error.code !== 'ENOENT') return `cannot start ${command()}: ${error.message}`;
    return `${command()} is not found: install it with \`${INSTALL_COMMAND}\`, or set pte-emit.path`;
  }
}

// Reports a command that cannot be started, with what to do.
async function reportMissing(message) {
  const [install, choose] = ['How to install', 'Set its path'];
  const answer = await vscode.window.showErrorMessage(`pte-emit: ${message}`, install, choose);
  if (answer === install) vscode.env.openExternal(vscode.Uri.parse(INSTALL));
  if (answer === choose) vscode.commands.executeCommand('workbench.action.openSettings', 'pte-emit.path');
}

// The language server, what its commands answer, and reports.
class Server {
  constructor() {
    this.output = vscode.window.createOutputChannel('pte-emit');
    this.panels = new Map();
  }

  async start() {
    const message = await problem();
    // Not awaited: the message stays until the user answers it.
    if (message) return void reportMissing(message);
    const middleware = {
      executeCommand: async (name, args, next) => ((await saved(args[0])) ? this.show(args, await next(name, args)) : undefined),
    };
    const options = {
      documentSelector: [{ language: LANGUAGE }],
      initializationOptions: ['runtime', 'targets', 'definitions', 'hints'].reduce((all, name) => ({ ...all, [name]: setting(name) ?? undefined }), {}),
      synchronize: { configurationSection: 'pte-emit' },
      outputChannel: this.output,
      middleware,
    };
    this.client = new LanguageClient('pte-emit', 'pte-emit', { command: command(), args: ['lsp'] }, options);
    try {
      await this.client.start();
    } catch (error) {
      this.client = undefined;
      void reportMissing(`cannot start ${command()}: ${error?.message ?? error ?? 'no connection'}`);
    }
  }

  async restart() {
    const client = this.client;
    this.client = undefined;
    await client?.stop().catch(() => undefined);
    await this.start();
  }

  // Shows what a command answered: a report beside the text, anything else in the output.
  show([uri], answer) {
    if (answer?.file) return this.showPage(uri, answer.file);
    if (answer?.text) {
      this.output.appendLine(answer.text.trimEnd());
      this.output.show(true);
    }
    return answer;
  }

  async showReport(document) {
    if (!document || document.languageId !== LANGUAGE) return;
    if (!this.client) return this.start();
    await vscode.commands.executeCommand('pte-emit.report', document.uri.toString(), '');
  }

  showPage(uri, file) {
    let panel = this.panels.get(uri);
    if (!panel) {
      const title = `${path.basename(vscode.Uri.parse(uri).path)}: report`;
      const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      panel = vscode.window.createWebviewPanel('pte-emit.report', title, place, { enableScripts: true, retainContextWhenHidden: true });
      panel.onDidDispose(() => this.panels.delete(uri));
      this.panels.set(uri, panel);
    }
    const page = vscode.Uri.parse(file).fsPath;
    panel.webview.html = fs.readFileSync(page, 'utf8');
    fs.rmSync(page, { force: true });
  }

  // Draws the report of a saved text again, if it is shown. One of a text with errors stays as it is.
  async update(document) {
    const uri = document.uri.toString();
    if (!this.client || !this.panels.has(uri)) return;
    const params = { command: 'pte-emit.report', arguments: [uri, ''] };
    const answer = await this.client.sendRequest('workspace/executeCommand', params).catch(() => undefined);
    if (answer?.file && this.panels.has(uri)) this.showPage(uri, answer.file);
  }

  async dispose() {
    await this.client?.stop().catch(() => undefined);
    this.output.dispose();
  }
}

// Shows a file as YAML in a new editor; large data refer to the file, so that the YAML is saved beside it.
async function dump(uri) {
  const file = uri ?? (await vscode.window.showOpenDialog({ filters: { ExecuTorch: ['pte', 'ptd', 'bpte'] } }))?.[0];
  if (!file) return;
  try {
    // A name that begins with a dash is no option.
    const content = await run(['dump', `./${path.basename(file.fsPath)}`], path.dirname(file.fsPath));
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: LANGUAGE, content }));
  } catch (error) {
    const message = error.code === 'ENOENT' ? await problem() : undefined;
    if (message) await reportMissing(message);
    else vscode.window.showErrorMessage(`pte-emit: ${(error.stderr || error.message).trim().slice(0, 1000)}`);
  }
}

// Saves a file of the editor, which a command reads. Returns false if it is not saved.
async function saved(uri) {
  const document = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
  return !document?.isDirty || document.uri.scheme !== 'file' || document.save();
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
  const server = new Server();
  const recognize = recognizer();
  context.subscriptions.push(
    server,
    vscode.workspace.onDidOpenTextDocument(recognize),
    vscode.workspace.onDidSaveTextDocument((document) => server.update(document)),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration('pte-emit.path') && server.restart()),
    vscode.commands.registerCommand('pte-emit.showReport', () => server.showReport(vscode.window.activeTextEditor?.document)),
    vscode.commands.registerCommand('pte-emit.restart', () => server.restart()),
    vscode.commands.registerCommand('pte-emit.dump', dump),
  );
  vscode.workspace.textDocuments.forEach(recognize);
  await server.start();
}

module.exports = { activate, SCHEMA_LINE };
