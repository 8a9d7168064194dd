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
mod workspace;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use clap::Args;
use pte_emit::language::{Analysis, LanguageOptions};
use pte_emit::run::StopFlag;
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use answers::Subject;
use documents::{OpenText, OpenTexts, path_of, uri_of};
use positions::Positions;
use settings::Client;
use transport::{ErrorCode, Incoming, ResponseError};
use workspace::{FileNames, Limit, Search, TextNames};

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
    /// Files have changed, appeared or disappeared.
    Files(Vec<PathBuf>),
    /// Settings have changed.
    Settings(Box<LanguageOptions>),
    /// Folders are removed from the workspace, and added to it.
    Folders { removed: Vec<PathBuf>, added: Vec<PathBuf> },
    /// A request.
    Request { id: Value, method: String, params: Value },
}

/// A request without an answer.
#[derive(Default)]
struct Waiting {
    /// It is cancelled.
    stop: StopFlag,
    /// Text that it is about.
    uri: Option<String>,
    /// The text has changed since.
    is_outdated: bool,
}

/// Requests without an answer: by id, and by the token of their progress.
#[derive(Clone, Default)]
struct Pending(Arc<Mutex<HashMap<String, Waiting>>>);

impl Pending {
    fn requests(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_id(id: &Value) -> String {
        format!("id {id}")
    }

    fn of_token(token: &Value) -> String {
        format!("token {token}")
    }

    fn cancel(&self, key: &str) {
        self.requests().get(key).into_iter().for_each(|request| request.stop.set());
    }

    /// Outdates the requests about a text.
    fn outdate(&self, uri: &str) {
        let mut requests = self.requests();
        let about = requests.values_mut().filter(|request| request.uri.as_deref() == Some(uri));
        about.for_each(|request| request.is_outdated = true);
    }

    /// Fails for a request that is cancelled, or whose text has changed since.
    fn check(&self, id: &Value) -> Result<(), ResponseError> {
        let (code, message) = match self.requests().get(&Pending::of_id(id)) {
            Some(request) if request.stop.is_set() => (ErrorCode::RequestCancelled, "cancelled"),
            Some(request) if request.is_outdated => (ErrorCode::ContentModified, "the text has changed"),
            Some(_) | None => return Ok(()),
        };
        Err(ResponseError::new(code, message))
    }

    /// Answers a request.
    fn respond(&self, id: &Value, result: Result<Value, ResponseError>) {
        self.requests().remove(&Pending::of_id(id));
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
            "workspace/executeCommand" if params["command"] != commands::MOVE_DATA => self.command(id, params),
            _ => {
                // It is about a text as it is in the editor.
                let (method, params) = match &*method {
                    "workspace/executeCommand" => (answers::MOVE_DATA.to_owned(), params["arguments"][0].clone()),
                    _ => (method, params),
                };
                let uri = params["textDocument"]["uri"].as_str().map(str::to_owned);
                self.pending.requests().insert(Pending::of_id(&id), Waiting { uri, ..Waiting::default() });
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
        let mut analyst = Analyst {
            client,
            options,
            folders: folders(params),
            pending,
            texts: BTreeMap::new(),
            names: FileNames::default(),
            limits: BTreeSet::new(),
        };
        let analyst = thread::spawn(move || analyst.run(&receiver));
        self.session = Some(Session { client, settings, texts: OpenTexts::new(client.encoding), jobs, analyst });
    }

    fn notification(&mut self, method: &str, params: &Value) {
        let Some(session) = self.session.as_mut().filter(|_| !self.is_shut_down) else { return };
        let job = match method {
            "$/cancelRequest" => return self.pending.cancel(&Pending::of_id(&params["id"])),
            "window/workDoneProgress/cancel" => return self.pending.cancel(&Pending::of_token(&params["token"])),
            "initialized" if session.client.watches_files => return watch_files(),
            "initialized" => return,
            "textDocument/didSave" => Job::Files(paths(std::slice::from_ref(&params["textDocument"]))),
            "workspace/didChangeWatchedFiles" => Job::Files(paths(items(&params["changes"]))),
            "workspace/didChangeWorkspaceFolders" => {
                let folders = |which| paths(items(&params["event"][which]));
                Job::Folders { removed: folders("removed"), added: folders("added") }
            }
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
                Job::Settings(Box::new(options))
            }
            "textDocument/didOpen" | "textDocument/didChange" | "textDocument/didClose" => {
                match session.texts.apply(method, params) {
                    Ok((uri, text)) => {
                        self.pending.outdate(&uri);
                        Job::Text(uri, text)
                    }
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
        let running = self.pending.requests();
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
                transport::request("window/workDoneProgress/create", &json!({"token": token}));
                Some(token.into())
            }
            _ => None,
        };
        let (stop, pending, key) = (StopFlag::default(), self.pending.clone(), Pending::of_id(&id));
        let keys = [Some(key.clone()), token.as_ref().map(Pending::of_token)].into_iter().flatten();
        pending.requests().extend(keys.map(|key| (key, Waiting { stop: stop.clone(), ..Waiting::default() })));
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            let result =
                answered("workspace/executeCommand", || commands::execute(&params, &settings, token.as_ref(), &flag));
            token.iter().for_each(|token| _ = pending.requests().remove(&Pending::of_token(token)));
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

/// Asks the client for notifications about files: which ones a text refers to is known when one changes.
fn watch_files() {
    let method = "workspace/didChangeWatchedFiles";
    let options = json!({"watchers": [{"globPattern": "**/*"}]});
    let registration = json!({"id": method, "method": method, "registerOptions": options});
    transport::request("client/registerCapability", &json!({"registrations": [registration]}));
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the paths of objects with the URI of a file.
fn paths(objects: &[Value]) -> Vec<PathBuf> {
    objects.iter().filter_map(|object| path_of(object["uri"].as_str()?)).collect()
}

/// Returns the folders of the workspace.
fn folders(params: &Value) -> Vec<PathBuf> {
    let mut found = paths(items(&params["workspaceFolders"]));
    if found.is_empty() {
        found.extend(params["rootUri"].as_str().and_then(path_of));
    }
    found
}

/// Returns what the server can do.
fn capabilities(client: Client) -> Value {
    let commands = commands::COMMANDS.iter().map(|(name, _)| *name);
    let commands: Vec<&str> = commands.chain(client.edits.then_some(commands::MOVE_DATA)).collect();
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
            "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
        },
        "serverInfo": {"name": "pte-emit", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// A text that is open.
struct AnalysedText {
    open: OpenText,
    /// Computed for the first question about the text: of changes in a row, only the last one is analysed.
    analysed: OnceCell<Analysed>,
    /// Its messages are sent.
    is_reported: bool,
}

impl AnalysedText {
    fn new(open: OpenText) -> AnalysedText {
        AnalysedText { open, analysed: OnceCell::new(), is_reported: false }
    }
}

/// An analysis of a text.
struct Analysed {
    analysis: Analysis,
    positions: Positions,
    /// Files that the text refers to.
    files: OnceCell<Vec<PathBuf>>,
}

impl Analysed {
    /// Returns true if the answers may depend on a file or folder.
    fn reads(&self, changed: &Path) -> bool {
        let links = || self.analysis.links().iter().map(|link| documents::normal(&link.path)).collect();
        let is_part = |file: &PathBuf| {
            // An index names further files beside it.
            let beside = file.parent().filter(|_| file.extension().is_some_and(|end| end == "json"));
            file.starts_with(changed) || beside.is_some_and(|folder| changed.starts_with(folder))
        };
        self.files.get_or_init(links).iter().any(is_part)
    }
}

/// The thread that analyses.
struct Analyst {
    client: Client,
    options: LanguageOptions,
    folders: Vec<PathBuf>,
    pending: Pending,
    texts: BTreeMap<String, AnalysedText>,
    /// Names in the files of the workspace.
    names: FileNames,
    /// Limits that the user knows of.
    limits: BTreeSet<Limit>,
}

impl Analyst {
    /// Does all jobs; the messages of a text are sent when no job is left, so that changes come first.
    fn run(&mut self, jobs: &Receiver<Job>) {
        loop {
            let next = self.texts.iter().find(|(_, text)| !text.is_reported).map(|(uri, _)| uri.clone());
            let job = match next {
                Some(_) => jobs.try_recv(),
                None => jobs.recv().map_err(TryRecvError::from),
            };
            match (job, next) {
                (Ok(job), _) => {
                    _ = answered("a change", || {
                        self.job(job);
                        Ok(Value::Null)
                    });
                }
                (Err(TryRecvError::Empty), Some(uri)) => self.report(&uri),
                (Err(_), _) => return,
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
            Job::Files(changed) => {
                let changed: Vec<PathBuf> = changed.iter().map(|path| documents::normal(path)).collect();
                self.refresh(&["inlayHint"], |analysed| changed.iter().any(|path| analysed.reads(path)));
            }
            Job::Settings(options) => {
                (self.options, self.names) = (*options, FileNames::default());
                self.refresh(&["inlayHint", "codeLens", "semanticTokens"], |_| true);
            }
            Job::Folders { removed, added } => {
                self.folders.retain(|folder| !removed.contains(folder) && !added.contains(folder));
                self.folders.extend(added);
            }
            Job::Request { id, method, params } => {
                let pending = self.pending.clone();
                let answer = || pending.check(&id).and_then(|()| self.answer(&method, &params));
                pending.respond(&id, answered(&method, answer));
            }
        }
    }

    /// Analyses the texts again whose analysis is outdated, and asks the client to ask again, too.
    fn refresh(&mut self, answers: &[&str], is_outdated: impl Fn(&Analysed) -> bool) {
        let mut is_any = false;
        for text in self.texts.values_mut().filter(|text| text.analysed.get().is_some_and(&is_outdated)) {
            (*text, is_any) = (AnalysedText::new(text.open.clone()), true);
        }
        let refreshes = self.client.refreshes.iter().flatten();
        for answer in refreshes.filter(|answer| is_any && answers.contains(answer)) {
            transport::request(&format!("workspace/{answer}/refresh"), &Value::Null);
        }
    }

    fn analysed(&self, uri: &str, path: Option<&Path>, text: &str) -> Analysed {
        let folder = path.and_then(Path::parent).unwrap_or(Path::new(""));
        let name = path.map_or_else(|| uri.to_owned(), |path| path.display().to_string());
        let new = || Analysis::new(name, text, folder, &self.options);
        // A text that makes the analysis panic is one without answers.
        let analysis = catch_unwind(AssertUnwindSafe(new));
        let analysis = analysis.unwrap_or_else(|_| Analysis::new("", "", "", &self.options));
        let positions = Positions::new(analysis.text(), self.client.encoding);
        Analysed { analysis, positions, files: OnceCell::new() }
    }

    /// Returns an open text with its analysis.
    fn subject<'a>(&'a self, uri: &'a str, text: &'a AnalysedText) -> Subject<'a> {
        let new = || self.analysed(uri, path_of(uri).as_deref(), &text.open.text);
        let Analysed { analysis, positions, .. } = text.analysed.get_or_init(new);
        Subject { uri, version: text.open.version, analysis, positions, client: self.client }
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

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, ResponseError> {
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
    fn workspace_symbols(&mut self, query: &str) -> Value {
        let mut search = Search::new(query);
        for (uri, text) in &self.texts {
            let Subject { analysis, positions, .. } = self.subject(uri, text);
            search.add(uri, &TextNames::new(&analysis.names(), positions));
        }
        let open = self.texts.keys().filter_map(|uri| path_of(uri)).collect();
        let mut files = std::mem::take(&mut self.names);
        files.refresh(&self.folders, &open, &mut search.limits, |path, text| {
            let Analysed { analysis, positions, .. } = self.analysed("", Some(path), text);
            // A file that makes it panic is one without names.
            let names = catch_unwind(AssertUnwindSafe(|| analysis.names())).unwrap_or_default();
            TextNames::new(&names, &positions)
        });
        files.iter().for_each(|(path, names)| search.add(&uri_of(path), names));
        self.names = files;
        // The user learns of each limit once.
        search.limits.iter().filter(|limit| self.limits.insert(**limit)).for_each(|limit| warn(&limit.message()));
        search.answer()
    }
}

/// Sends the messages of a text.
fn publish(uri: &str, version: Option<i64>, diagnostics: &[Value]) {
    let params = json!({"uri": uri, "version": version, "diagnostics": diagnostics});
    transport::notify("textDocument/publishDiagnostics", &params);
}
