//! `pte-emit lsp`: a language server on standard input and output, for editors.
//!
//! This file has the states of the protocol; [`pte_emit::language`] has the answers. One thread reads messages and
//! applies changes of the texts, another one analyses: typing never waits. Requests about texts are answered in the
//! order of the messages, so that an answer is about the text that it was asked about. Each command has a thread of its
//! own.

mod answers;
mod commands;
mod documents;
mod positions;
mod settings;
mod transport;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use clap::Args;
use pte_emit::language::{Analysis, LanguageOptions, OutlineItem, OutlineKind};
use pte_emit::run::StopFlag;
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use answers::Subject;
use documents::{OpenText, OpenTexts, path_of, uri_of};
use positions::Positions;
use settings::Client;
use transport::{ErrorCode, Incoming, ResponseError};

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
    Request { id: Value, method: String, params: Value },
}

/// Requests without an answer, each with the flag that cancels it: by id, and by the token of its progress.
#[derive(Clone, Default)]
struct Pending(Arc<Mutex<HashMap<String, StopFlag>>>);

impl Pending {
    fn flags(&self) -> MutexGuard<'_, HashMap<String, StopFlag>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_id(id: &Value) -> String {
        format!("id {id}")
    }

    fn of_token(token: &Value) -> String {
        format!("token {token}")
    }

    fn cancel(&self, key: &str) {
        self.flags().get(key).into_iter().for_each(StopFlag::set);
    }

    /// Answers a request.
    fn respond(&self, id: &Value, result: Result<Value, ResponseError>) {
        self.flags().remove(&Pending::of_id(id));
        transport::respond(id, result);
    }
}

/// Runs the server until the client ends it.
///
/// # Errors
/// Input that is no message, or cannot be read.
pub fn run(_: &LspArguments) -> Result<Exit, Failure> {
    let mut server = Server::default();
    let ended = server.read_all(&mut io::stdin().lock());
    server.end();
    ended.map_err(|error| Failure::reading("standard input", &error))
}

/// Maximum number of commands that run at the same time.
const MAX_COMMANDS: usize = 8;

/// The thread that reads.
#[derive(Default)]
struct Server {
    /// After `initialize`.
    session: Option<Session>,
    /// After `shutdown`.
    is_shut_down: bool,
    pending: Pending,
    /// Threads of commands, each with the flag that cancels it, and the key of its request.
    commands: Vec<(JoinHandle<()>, StopFlag, String)>,
    /// Number of commands with a progress that the server has created.
    tokens: u64,
}

/// An initialized server.
struct Session {
    client: Client,
    /// Options of commands, from the settings.
    settings: Vec<String>,
    texts: OpenTexts,
    jobs: Sender<Job>,
    analyst: JoinHandle<()>,
}

impl Server {
    /// Reads messages until the client ends the server, or its input ends.
    fn read_all(&mut self, input: &mut impl io::BufRead) -> io::Result<Exit> {
        while let Some(message) = transport::read(input)? {
            match message {
                Incoming::Request { id, method, params } => self.request(id, method, params),
                Incoming::Notification { method, .. } if method == "exit" => {
                    return Ok(if self.is_shut_down { Exit::Ok } else { Exit::Input });
                }
                Incoming::Notification { method, params } => self.notification(&method, &params),
                Incoming::Response => {}
                Incoming::Invalid(error) => transport::respond(&Value::Null, Err(error)),
            }
        }
        Ok(Exit::Ok)
    }

    /// Ends the commands, and waits for the answers of the requests before.
    fn end(self) {
        self.commands.iter().for_each(|(_, stop, _)| stop.set());
        self.commands.into_iter().for_each(|(thread, ..)| _ = thread.join());
        if let Some(Session { jobs, analyst, .. }) = self.session {
            drop(jobs);
            let _ = analyst.join();
        }
    }

    fn request(&mut self, id: Value, method: String, params: Value) {
        let invalid = |message: &str| Err(ResponseError::new(ErrorCode::InvalidRequest, message));
        let Some(session) = &self.session else {
            if method == "initialize" {
                return self.initialize(&id, &params);
            }
            let message = format!("expected the request `initialize`, found `{method}`");
            return transport::respond(&id, Err(ResponseError::new(ErrorCode::ServerNotInitialized, message)));
        };
        match &*method {
            _ if self.is_shut_down => transport::respond(&id, invalid("expected `exit` after `shutdown`")),
            "initialize" => transport::respond(&id, invalid("the server is initialized")),
            "shutdown" => {
                self.is_shut_down = true;
                transport::respond(&id, Ok(Value::Null));
            }
            "workspace/executeCommand" => self.command(id, params),
            _ => {
                self.pending.flags().insert(Pending::of_id(&id), StopFlag::default());
                // The thread ends after this one.
                let _ = session.jobs.send(Job::Request { id, method, params });
            }
        }
    }

    fn initialize(&mut self, id: &Value, params: &Value) {
        let client = Client::new(params);
        let (options, wrong) = settings::options(&params["initializationOptions"]);
        transport::respond(id, Ok(capabilities(client)));
        wrong.iter().for_each(|message| warn(message));
        let (jobs, receiver) = mpsc::channel();
        let pending = self.pending.clone();
        let settings = commands::settings(&options);
        let mut analyst = Analyst { client, options, folders: folders(params), pending, texts: BTreeMap::new() };
        let analyst = thread::spawn(move || analyst.run(&receiver));
        self.session = Some(Session { client, settings, texts: OpenTexts::new(client.encoding), jobs, analyst });
    }

    fn notification(&mut self, method: &str, params: &Value) {
        let Some(session) = self.session.as_mut().filter(|_| !self.is_shut_down) else { return };
        let job = match method {
            "$/cancelRequest" => return self.pending.cancel(&Pending::of_id(&params["id"])),
            "window/workDoneProgress/cancel" => return self.pending.cancel(&Pending::of_token(&params["token"])),
            "workspace/didChangeWatchedFiles" | "textDocument/didSave" => Job::Refresh(None),
            "workspace/didChangeConfiguration" => {
                let settings = &params["settings"];
                // Clients send the section, its content as they have it for the start, or nothing.
                let settings = settings.get("pte-emit").unwrap_or(settings);
                if !settings.is_object() {
                    return;
                }
                let (options, wrong) = settings::options(settings);
                wrong.iter().for_each(|message| warn(message));
                session.settings = commands::settings(&options);
                Job::Refresh(Some(Box::new(options)))
            }
            "textDocument/didOpen" | "textDocument/didChange" | "textDocument/didClose" => {
                match session.texts.apply(method, params) {
                    Ok((uri, text)) => Job::Text(uri, text),
                    Err(message) => return warn(&format!("`{method}` is ignored: {message}")),
                }
            }
            // Unknown notifications are ignored.
            _ => return,
        };
        let _ = session.jobs.send(job);
    }

    /// Starts a command, whose thread answers the request.
    fn command(&mut self, id: Value, params: Value) {
        // A request without an answer: its thread ends after that.
        let running = self.pending.flags();
        self.commands.retain(|(.., key)| running.contains_key(key));
        drop(running);
        if self.commands.len() >= MAX_COMMANDS {
            let message = format!("{MAX_COMMANDS} commands are running: wait for one, or cancel it");
            return transport::respond(&id, Err(message.into()));
        }
        let Some(Session { client, settings, .. }) = &self.session else { return };
        let (creates, settings) = (client.progress, settings.clone());
        let token = match params.get("workDoneToken") {
            Some(token @ (Value::String(_) | Value::Number(_))) => Some(token.clone()),
            _ if creates => {
                self.tokens += 1;
                let token = format!("pte-emit {}", self.tokens);
                transport::request(&token, "window/workDoneProgress/create", &json!({"token": token}));
                Some(token.into())
            }
            _ => None,
        };
        let (stop, pending, key) = (StopFlag::default(), self.pending.clone(), Pending::of_id(&id));
        let keys = [Some(key.clone()), token.as_ref().map(Pending::of_token)].into_iter().flatten();
        pending.flags().extend(keys.map(|key| (key, stop.clone())));
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            let result =
                answered("workspace/executeCommand", || commands::execute(&params, &settings, token.as_ref(), &flag));
            token.iter().for_each(|token| _ = pending.flags().remove(&Pending::of_token(token)));
            pending.respond(&id, result);
        });
        self.commands.push((thread, stop, key));
    }
}

/// Returns the answer of a request, an error if computing it panics.
fn answered(method: &str, answer: impl FnOnce() -> Result<Value, ResponseError>) -> Result<Value, ResponseError> {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        let message = format!("`{method}` failed: this is a defect of pte-emit");
        Err(ResponseError::new(ErrorCode::InternalError, message))
    })
}

/// Shows a warning in the editor.
fn warn(message: &str) {
    transport::notify("window/showMessage", &json!({"type": 2, "message": format!("pte-emit: {message}")}));
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
            "executeCommandProvider": {"commands": commands, "workDoneProgress": true},
        },
        "serverInfo": {"name": "pte-emit", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// A text that is open.
struct AnalysedText {
    open: OpenText,
    /// Computed for the first question about the text: of changes in a row, only the last one is analysed.
    analysed: OnceCell<(Analysis, Positions)>,
    /// Its messages are sent.
    is_reported: bool,
}

impl AnalysedText {
    fn new(open: OpenText) -> AnalysedText {
        AnalysedText { open, analysed: OnceCell::new(), is_reported: false }
    }
}

/// The thread that analyses.
struct Analyst {
    client: Client,
    options: LanguageOptions,
    folders: Vec<PathBuf>,
    pending: Pending,
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
                let old = self.texts.insert(uri, AnalysedText::new(open));
                // Dropping the trees of a large text takes a tenth of analysing it.
                if let Some(old) = old.filter(|old| old.open.text.len() > answers::LARGE) {
                    thread::spawn(move || drop(old));
                }
            }
            Job::Text(uri, None) => {
                self.texts.remove(&uri);
                publish(&uri, None, &[]);
            }
            Job::Refresh(options) => {
                self.options = options.map_or_else(|| self.options.clone(), |options| *options);
                self.texts.values_mut().for_each(|text| *text = AnalysedText::new(text.open.clone()));
            }
            Job::Request { id, method, params } => {
                let is_cancelled = self.pending.flags().get(&Pending::of_id(&id)).is_some_and(StopFlag::is_set);
                let result = match is_cancelled {
                    true => Err(ResponseError::new(ErrorCode::RequestCancelled, "cancelled")),
                    false => answered(&method, || self.answer(&method, &params)),
                };
                self.pending.respond(&id, result);
            }
        }
    }

    fn analysed(&self, uri: &str, text: &str) -> (Analysis, Positions) {
        let path = path_of(uri);
        let folder = path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let name = path.as_ref().map_or_else(|| uri.to_owned(), |path| path.display().to_string());
        let new = || Analysis::new(name, text, folder, &self.options);
        // A text that makes the analysis panic is one without answers.
        let analysis = catch_unwind(AssertUnwindSafe(new));
        let analysis = analysis.unwrap_or_else(|_| Analysis::new("", "", "", &self.options));
        let positions = Positions::new(analysis.text(), self.client.encoding);
        (analysis, positions)
    }

    /// Returns an open text with its analysis.
    fn subject<'a>(&'a self, uri: &'a str, text: &'a AnalysedText) -> Subject<'a> {
        let (analysis, positions) = text.analysed.get_or_init(|| self.analysed(uri, &text.open.text));
        Subject { uri, analysis, positions, client: self.client }
    }

    /// Sends the messages of a text.
    fn report(&mut self, uri: &str) {
        let Some(text) = self.texts.get(uri) else { return };
        let version = Some(text.open.version);
        let report = || self.subject(uri, text).diagnostics(&mut |early| publish(uri, version, early));
        let found = catch_unwind(AssertUnwindSafe(report)).unwrap_or_default();
        publish(uri, version, &found);
        self.texts.get_mut(uri).into_iter().for_each(|text| text.is_reported = true);
    }

    fn answer(&self, method: &str, params: &Value) -> Result<Value, ResponseError> {
        if method == "workspace/symbol" {
            return Ok(self.workspace_symbols(params["query"].as_str().unwrap_or_default()));
        }
        if !method.starts_with("textDocument/") {
            return Err(ResponseError::new(ErrorCode::MethodNotFound, format!("unknown method `{method}`")));
        }
        let Some(uri) = params["textDocument"]["uri"].as_str() else {
            return Err(ResponseError::new(ErrorCode::InvalidParams, "expected `textDocument` with `uri`, a string"));
        };
        let text = self.texts.get(uri).ok_or_else(|| format!("`{uri}` is not open"))?;
        self.subject(uri, text).answer(method, params)
    }

    /// Returns the names of all open texts, and of the YAML in the folders of the workspace, that have a part.
    fn workspace_symbols(&self, query: &str) -> Value {
        let query = query.to_lowercase();
        let mut found = Vec::new();
        for (uri, text) in &self.texts {
            let Subject { analysis, positions, .. } = self.subject(uri, text);
            analysis.symbols().iter().for_each(|item| add_symbols(item, uri, positions, &query, "", &mut found));
        }
        for path in self.folders.iter().flat_map(|folder| yaml_files(folder)) {
            let uri = uri_of(&path);
            if self.texts.contains_key(&uri) || found.len() > MAX_SYMBOLS {
                continue;
            }
            let mut text = String::new();
            let read = std::fs::File::open(&path).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
            if read.is_ok_and(|read| read as u64 <= MAX_FILE) && text.contains("methods:") {
                let (analysis, positions) = self.analysed(&uri, &text);
                analysis.symbols().iter().for_each(|item| add_symbols(item, &uri, &positions, &query, "", &mut found));
            }
        }
        found.truncate(MAX_SYMBOLS);
        found.into()
    }
}

/// Sends the messages of a text.
fn publish(uri: &str, version: Option<i64>, diagnostics: &[Value]) {
    let params = json!({"uri": uri, "version": version, "diagnostics": diagnostics});
    transport::notify("textDocument/publishDiagnostics", &params);
}

/// Maximum number of symbols of a workspace, of files that are searched, and of their bytes.
const MAX_SYMBOLS: usize = 1000;
const MAX_FILES: usize = 500;
const MAX_FILE: u64 = 1 << 20;

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
