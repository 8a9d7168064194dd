//! `pte-emit lsp`: a language server on standard input and output, for editors.
//!
//! This file speaks the protocol; [`pte_emit::language`] has the answers. One thread reads messages and applies changes
//! of the texts, another one analyses: typing never waits. Requests are answered in the order of the messages, so that
//! an answer is about the text that it was asked about.

mod answers;
mod commands;
mod documents;
mod positions;
mod settings;

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use pte_emit::language::{Analysis, LanguageOptions, OutlineItem, OutlineKind};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use answers::Subject;
use documents::{OpenText, OpenTexts, path_of, uri_of};
use positions::Positions;
use settings::Client;

/// Arguments of `lsp`.
#[derive(Debug, Args)]
pub struct LspArguments {
    /// Standard input and output, which editors name although it is the only way
    #[arg(long)]
    stdio: bool,
}

/// Work of the thread that analyses.
enum Job {
    /// A text is opened, changed or closed.
    Text(String, Option<OpenText>),
    /// Files, or settings, have changed.
    Refresh(Option<Box<LanguageOptions>>),
    /// A request.
    Request(Request),
}

/// Identifiers of requests that the client does not wait for any more.
type Cancelled = Arc<Mutex<HashSet<RequestId>>>;

/// Runs the server until the client ends it.
///
/// # Errors
/// Messages that are not those of the protocol; input or output that cannot be read or written.
pub fn run(_: &LspArguments) -> Result<Exit, Failure> {
    let (connection, threads) = Connection::stdio();
    let served = match connection.initialize_start() {
        Ok((id, params)) => serve(&connection, id, &params),
        // A client that says nothing.
        Err(error) if error.channel_is_disconnected() => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    drop(connection);
    let io = threads.join();
    match served {
        Ok(()) => io.map(|()| Exit::Ok).map_err(|error| Failure::reading("standard input", &error)),
        // The thread that reads says why there is no further message.
        Err(message) => Err(io.map_or_else(
            |error| Failure::reading("standard input", &error),
            |()| Failure::usage(format!("the client does not follow the protocol: {message}")),
        )),
    }
}

fn serve(connection: &Connection, id: RequestId, params: &Value) -> Result<(), String> {
    let client = Client::new(params);
    let (options, wrong) = settings::options(&params["initializationOptions"]);
    connection.initialize_finish(id, capabilities(client)).map_err(|error| error.to_string())?;
    wrong.iter().for_each(|message| warn(connection, message));
    let (sender, receiver) = mpsc::channel();
    let cancelled = Cancelled::default();
    let out = connection.sender.clone();
    let mut analyst = Analyst {
        // A client that does not read any more has ended.
        send: Box::new(move |message| _ = out.send(message)),
        client,
        options,
        folders: folders(params),
        cancelled: cancelled.clone(),
        texts: BTreeMap::new(),
    };
    let thread = std::thread::spawn(move || analyst.run(&receiver));
    let done = read(connection, client, &sender, &cancelled);
    drop(sender);
    // The answers of the requests before the end.
    let _ = thread.join();
    done
}

/// Reads messages until the client ends the server.
fn read(connection: &Connection, client: Client, jobs: &Sender<Job>, cancelled: &Cancelled) -> Result<(), String> {
    let mut texts = OpenTexts::new(client.encoding);
    for message in &connection.receiver {
        let job = match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|error| error.to_string())? {
                    return Ok(());
                }
                Some(Job::Request(request))
            }
            Message::Notification(notification) if notification.method == "$/cancelRequest" => {
                let id = serde_json::from_value(notification.params["id"].clone());
                cancelled.lock().unwrap_or_else(PoisonError::into_inner).extend(id.ok() as Option<RequestId>);
                None
            }
            Message::Notification(Notification { method, params }) => match &*method {
                "workspace/didChangeWatchedFiles" | "textDocument/didSave" => Some(Job::Refresh(None)),
                "workspace/didChangeConfiguration" => {
                    let (options, wrong) = settings::options(&params["settings"]["pte-emit"]);
                    wrong.iter().for_each(|message| warn(connection, message));
                    Some(Job::Refresh(Some(Box::new(options))))
                }
                method => texts.apply(method, &params).map(|(uri, text)| Job::Text(uri, text)),
            },
            Message::Response(_) => None,
        };
        if let Some(job) = job
            && jobs.send(job).is_err()
        {
            return Err("the analysis has ended".to_owned());
        }
    }
    Ok(())
}

/// Shows a warning in the editor.
fn warn(connection: &Connection, message: &str) {
    let params = json!({"type": 2, "message": format!("pte-emit: {message}")});
    let _ = connection.sender.send(Notification::new("window/showMessage".to_owned(), params).into());
}

/// Returns the folders of the workspace.
fn folders(params: &Value) -> Vec<PathBuf> {
    let several = params["workspaceFolders"].as_array().into_iter().flatten().map(|folder| &folder["uri"]);
    let mut found: Vec<PathBuf> = several.filter_map(|uri| path_of(uri.as_str()?)).collect();
    if found.is_empty() {
        found.extend(params["rootUri"].as_str().and_then(path_of));
    }
    found
}

/// Returns what the server can do.
fn capabilities(client: Client) -> Value {
    let commands: Vec<&str> = commands::COMMANDS.iter().map(|(name, _)| *name).collect();
    let legend = json!({"tokenTypes": answers::TOKEN_TYPES, "tokenModifiers": answers::TOKEN_MODIFIERS});
    json!({
        "capabilities": {
            "positionEncoding": client.encoding.name(),
            "textDocumentSync": {"openClose": true, "change": 2, "save": true},
            "hoverProvider": true,
            "completionProvider": {"triggerCharacters": [":", "[", "{", ",", " ", "/", "-"]},
            "signatureHelpProvider": {"triggerCharacters": ["[", ","], "retriggerCharacters": [","]},
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": {"prepareProvider": true},
            "inlayHintProvider": true,
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "foldingRangeProvider": true,
            "selectionRangeProvider": true,
            "semanticTokensProvider": {"legend": legend, "full": true, "range": true},
            "documentLinkProvider": {},
            "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor"]},
            "codeLensProvider": {},
            "documentFormattingProvider": true,
            "executeCommandProvider": {"commands": commands},
        },
        "serverInfo": {"name": "pte-emit", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// A text with its analysis.
struct AnalysedText {
    version: i64,
    analysis: Analysis,
    positions: Positions,
    /// Its messages are sent.
    is_reported: bool,
}

/// The thread that analyses.
struct Analyst {
    send: Box<dyn Fn(Message) + Send>,
    client: Client,
    options: LanguageOptions,
    folders: Vec<PathBuf>,
    cancelled: Cancelled,
    texts: BTreeMap<String, AnalysedText>,
}

impl Analyst {
    /// Does all jobs; messages of texts are sent when no job is left, so that changes come first.
    fn run(&mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut next = Some(first);
            while let Some(job) = next {
                self.job(job);
                next = jobs.try_recv().ok();
            }
            while let Some(uri) = self.texts.iter().find(|(_, text)| !text.is_reported).map(|(uri, _)| uri.clone()) {
                self.report(&uri);
                // A change during the report comes before other texts.
                if let Ok(job) = jobs.try_recv() {
                    self.job(job);
                }
            }
        }
    }

    fn job(&mut self, job: Job) {
        match job {
            Job::Text(uri, Some(open)) => {
                let text = self.analysed(&uri, &open.text, open.version);
                self.texts.insert(uri, text);
            }
            Job::Text(uri, None) => {
                self.texts.remove(&uri);
                self.publish(&uri, None, &[]);
            }
            Job::Refresh(options) => {
                self.options = options.map_or_else(|| self.options.clone(), |options| *options);
                let all: Vec<(String, Arc<str>, i64)> = self
                    .texts
                    .iter()
                    .map(|(uri, text)| (uri.clone(), text.analysis.text().into(), text.version))
                    .collect();
                for (uri, text, version) in all {
                    let analysed = self.analysed(&uri, &text, version);
                    self.texts.insert(uri, analysed);
                }
            }
            Job::Request(request) => {
                let response = self.respond(request);
                (self.send)(response.into());
            }
        }
    }

    fn analysed(&self, uri: &str, text: &str, version: i64) -> AnalysedText {
        let path = path_of(uri);
        let folder = path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let name = path.as_ref().map_or_else(|| uri.to_owned(), |path| path.display().to_string());
        let new = || Analysis::new(name, text, folder, &self.options);
        // A text that makes the analysis panic is one without answers.
        let analysis = catch_unwind(AssertUnwindSafe(new));
        let analysis = analysis.unwrap_or_else(|_| Analysis::new("", "", "", &self.options));
        let positions = Positions::new(analysis.text(), self.client.encoding);
        AnalysedText { version, analysis, positions, is_reported: false }
    }

    /// Sends the messages of a text.
    fn report(&mut self, uri: &str) {
        let Some(text) = self.texts.get_mut(uri) else { return };
        text.is_reported = true;
        let AnalysedText { version, analysis, positions, .. } = &*text;
        let (version, subject) = (*version, Subject { uri, analysis, positions, client: self.client });
        let found = catch_unwind(AssertUnwindSafe(|| subject.diagnostics())).unwrap_or_default();
        self.publish(uri, Some(version), &found);
    }

    fn publish(&self, uri: &str, version: Option<i64>, diagnostics: &[Value]) {
        let params = json!({"uri": uri, "version": version, "diagnostics": diagnostics});
        (self.send)(Notification::new("textDocument/publishDiagnostics".to_owned(), params).into());
    }

    fn respond(&self, request: Request) -> Response {
        let Request { id, method, params } = request;
        if self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).remove(&id) {
            return Response::new_err(id, ErrorCode::RequestCanceled as i32, "cancelled".to_owned());
        }
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&method, &params)));
        match answer {
            Ok(Some(Ok(result))) => Response::new_ok(id, result),
            Ok(Some(Err(message))) => Response::new_err(id, ErrorCode::RequestFailed as i32, message),
            Ok(None) => Response::new_err(id, ErrorCode::MethodNotFound as i32, format!("unknown method `{method}`")),
            Err(_) => Response::new_err(
                id,
                ErrorCode::InternalError as i32,
                format!("`{method}` failed: this is a defect of pte-emit"),
            ),
        }
    }

    fn answer(&self, method: &str, params: &Value) -> Option<Result<Value, String>> {
        match method {
            "workspace/executeCommand" => return Some(commands::execute(params)),
            "workspace/symbol" => {
                return Some(Ok(self.workspace_symbols(params["query"].as_str().unwrap_or_default())));
            }
            _ => {}
        }
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let Some(AnalysedText { analysis, positions, .. }) = self.texts.get(uri) else {
            let is_known = method.starts_with("textDocument/");
            return is_known.then(|| Err(format!("`{uri}` is not open")));
        };
        Subject { uri, analysis, positions, client: self.client }.answer(method, params)
    }

    /// Returns the names of all open texts, and of the YAML in the folders of the workspace, that have a part.
    fn workspace_symbols(&self, query: &str) -> Value {
        let query = query.to_lowercase();
        let mut found = Vec::new();
        let open = self.texts.iter().map(|(uri, text)| (uri.clone(), &text.analysis, &text.positions));
        for (uri, analysis, positions) in open {
            analysis.symbols().iter().for_each(|item| add_symbols(item, &uri, positions, &query, "", &mut found));
        }
        for path in self.folders.iter().flat_map(|folder| yaml_files(folder)) {
            let uri = uri_of(&path);
            if self.texts.contains_key(&uri) || found.len() > MAX_SYMBOLS {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if text.len() <= MAX_FILE && text.contains("methods:") {
                let AnalysedText { analysis, positions, .. } = self.analysed(&uri, &text, 0);
                analysis.symbols().iter().for_each(|item| add_symbols(item, &uri, &positions, &query, "", &mut found));
            }
        }
        found.truncate(MAX_SYMBOLS);
        found.into()
    }
}

/// Maximum number of symbols of a workspace, of files that are searched, and of their bytes.
const MAX_SYMBOLS: usize = 1000;
const MAX_FILES: usize = 500;
const MAX_FILE: usize = 1 << 20;

/// Returns the YAML files of a folder and of its folders.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop().filter(|_| files.len() < MAX_FILES) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FILES) {
            let (path, kind) = (entry.path(), entry.file_type());
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match kind {
                Ok(kind) if kind.is_dir() && !is_hidden && folders.len() < MAX_FILES => folders.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "yaml" || end == "yml") => {
                    files.push(path);
                }
                _ => {}
            }
        }
    }
    files.sort_unstable();
    files
}

fn add_symbols(
    item: &OutlineItem,
    uri: &str,
    positions: &Positions,
    query: &str,
    container: &str,
    found: &mut Vec<Value>,
) {
    if let OutlineKind::Name(kind) = item.kind
        && item.name.to_lowercase().contains(query)
    {
        let location = json!({"uri": uri, "range": positions.range(&item.selection)});
        let kind = answers::name_symbol(kind);
        found.push(json!({"name": item.name, "kind": kind, "containerName": container, "location": location}));
    }
    let own = if matches!(item.kind, OutlineKind::Name(_)) { &item.name } else { container };
    item.children.iter().for_each(|item| add_symbols(item, uri, positions, query, own, found));
}
