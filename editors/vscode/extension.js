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

// Limits of a run: time in milliseconds, and bytes of what it prints.
const LIMITS = { timeout: 60000, maxBuffer: 64 << 20 };

const setting = (name) => vscode.workspace.getConfiguration('pte-emit').get(name);
const command = () => setting('path') || 'pte-emit';

// Reports a command that cannot be started, with what to do.
async function reportMissing(error) {
  const [install, choose] = ['How to install', 'Set its path'];
  const answer = await vscode.window.showErrorMessage(`pte-emit: cannot start ${command()}: ${error.message}`, install, choose);
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
    const middleware = {
      executeCommand: async (name, args, next) => this.show(name, args, await next(name, args)),
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
      await reportMissing(error);
    }
  }

  async restart() {
    const client = this.client;
    this.client = undefined;
    await client?.stop().catch(() => undefined);
    await this.start();
  }

  // Shows what a command answered: a report beside the text, anything else in the output.
  show(name, [uri], answer) {
    if (answer?.file) return this.showPage(uri, answer.file);
    if (answer?.text) {
      this.output.appendLine(answer.text.trimEnd());
      this.output.show(true);
    }
    return answer;
  }

  async showReport(document) {
    if (!document || document.languageId !== LANGUAGE || !(await document.save())) return;
    if (!this.client) return void (await reportMissing(new Error('the language server does not run')));
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
    panel.webview.html = fs.readFileSync(vscode.Uri.parse(file).fsPath, 'utf8');
  }

  // Draws the report of a saved text again, if it is shown.
  async update(document) {
    const uri = document.uri.toString();
    if (this.client && this.panels.has(uri)) await vscode.commands.executeCommand('pte-emit.report', uri, '');
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
  // A name that begins with a dash is no option.
  const args = ['dump', `./${path.basename(file.fsPath)}`];
  execFile(command(), args, { ...LIMITS, cwd: path.dirname(file.fsPath) }, async (error, stdout, stderr) => {
    if (error?.code === 'ENOENT') return reportMissing(error);
    if (error) return vscode.window.showErrorMessage(`pte-emit: ${(stderr || error.message).trim().slice(0, 1000)}`);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: LANGUAGE, content: stdout }));
  });
}

// Gives YAML that names the schema the language of the server.
function recognize(document) {
  const isProgram = document.languageId === 'yaml' && SCHEMA_LINE.test(document.getText().slice(0, 4096));
  if (isProgram) vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
}

async function activate(context) {
  const server = new Server();
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
