//! `pte-emit lsp`, by a client that sends what editors send: requests at many positions of all examples, random edits,
//! and texts and messages that are malformed.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Client of a server process.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: i64,
    /// Last version with messages, and the messages, by URI.
    diagnostics: HashMap<String, (Value, Value)>,
    utf8: bool,
}

impl Client {
    fn raw() -> Client {
        Client::with(&mut Command::new(env!("CARGO_BIN_EXE_pte-emit")))
    }

    fn with(command: &mut Command) -> Client {
        let piped = command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (sender, messages) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            loop {
                let (mut line, mut size) = (String::new(), 0);
                while output.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
                    size = line.trim().strip_prefix("Content-Length: ").map_or(size, |size| size.parse().unwrap());
                    line.clear();
                }
                let mut body = vec![0; size];
                if size == 0 || output.read_exact(&mut body).is_err() {
                    return;
                }
                let _ = sender.send(serde_json::from_slice(&body).unwrap());
            }
        });
        let input = child.stdin.take();
        Client { child, input, messages, next: 0, diagnostics: HashMap::new(), utf8: false }
    }

    fn new(utf8: bool, options: Value) -> Client {
        Client::raw().initialized(utf8, options)
    }

    fn initialized(self, utf8: bool, options: Value) -> Client {
        let mut client = self;
        client.utf8 = utf8;
        let encodings = if utf8 { json!(["utf-8", "utf-16"]) } else { json!(["utf-16"]) };
        let capabilities = json!({"general": {"positionEncodings": encodings}});
        let params = json!({"capabilities": capabilities, "initializationOptions": options});
        let answer = client.request("initialize", params);
        let expected = if utf8 { "utf-8" } else { "utf-16" };
        assert_eq!(answer["capabilities"]["positionEncoding"], expected);
        client.notify("initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes());
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn receive(&mut self) -> Value {
        let message = self.messages.recv_timeout(Duration::from_secs(60)).expect("the server answers");
        if message["method"] == "textDocument/publishDiagnostics" {
            let params = &message["params"];
            let uri = params["uri"].as_str().unwrap().to_owned();
            self.diagnostics.insert(uri, (params["version"].clone(), params["diagnostics"].clone()));
        }
        message
    }

    /// Sends a request, and returns its id.
    fn start(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Returns the next message that a condition is true for.
    fn until(&mut self, is_found: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.receive();
            if is_found(&message) {
                return message;
            }
        }
    }

    /// Returns the answer, an object with `result` or `error`.
    fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params);
        self.until(|message| message["id"] == id)
    }

    /// Sends bytes as a message.
    fn send_bytes(&mut self, body: &[u8]) {
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        input.write_all(body).unwrap();
        input.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params.clone());
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        answer["result"].clone()
    }

    fn open(&mut self, uri: &str, text: &str) {
        self.notify(
            "textDocument/didOpen",
            json!({"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}}),
        );
    }

    /// Waits for the messages of a version.
    fn diagnostics(&mut self, uri: &str, version: i64) -> Value {
        while self.diagnostics.get(uri).is_none_or(|(known, _)| *known != version) {
            self.receive();
        }
        self.diagnostics[uri].1.clone()
    }

    fn close(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Value::Null);
        self.notify("exit", Value::Null);
        assert!(self.child.wait().unwrap().success());
    }

    /// Units of a text in the encoding of the client.
    fn units(&self, text: &str) -> usize {
        if self.utf8 { text.len() } else { text.encode_utf16().count() }
    }

    fn position(&self, text: &str, at: usize) -> Value {
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        json!({"line": text[..at].matches('\n').count(), "character": self.units(&text[start..at])})
    }

    /// Fails for a range that is not in the text.
    fn check_ranges(&self, text: &str, answer: &Value) {
        let lines: Vec<&str> = text.split('\n').collect();
        let at = |position: &Value| {
            let number = |key: &str| usize::try_from(position[key].as_u64().unwrap()).unwrap();
            let (line, column) = (number("line"), number("character"));
            let text = lines.get(line).unwrap_or_else(|| panic!("line {line} of {}", lines.len()));
            assert!(column <= self.units(text.trim_end_matches('\r')), "{position} in {text:?}");
            (line, column)
        };
        match answer {
            Value::Object(map) => {
                if let (Some(start), Some(end)) = (map.get("start"), map.get("end")) {
                    assert!(at(start) <= at(end), "{answer}");
                }
                map.values().for_each(|value| self.check_ranges(text, value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.check_ranges(text, item)),
            _ => {}
        }
    }

    /// Sends all requests about a text.
    fn ask_whole(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri});
        for method in ["documentSymbol", "foldingRange", "semanticTokens/full", "documentLink", "codeLens"] {
            let answer = self.request(&format!("textDocument/{method}"), json!({"textDocument": document}));
            self.check_ranges(text, &answer);
        }
        let all = json!({"start": {"line": 0, "character": 0}, "end": self.position(text, text.len())});
        let hints = self.request("textDocument/inlayHint", json!({"textDocument": document, "range": all}));
        self.check_ranges(text, &hints);
    }

    /// Sends all requests about a position.
    fn ask_at(&mut self, uri: &str, text: &str, at: usize) {
        let position = self.position(text, at);
        let params =
            json!({"textDocument": {"uri": uri}, "position": position, "context": {"includeDeclaration": true}});
        for method in
            ["hover", "completion", "signatureHelp", "definition", "references", "documentHighlight", "prepareRename"]
        {
            let answer = self.request(&format!("textDocument/{method}"), params.clone());
            self.check_ranges(text, &answer);
            if method == "prepareRename" && !answer.is_null() {
                let params = json!({"textDocument": {"uri": uri}, "position": position, "newName": "other_name"});
                let renamed = self.answer("textDocument/rename", params);
                self.check_ranges(text, &renamed["result"]);
            }
        }
        let range = json!({"start": position, "end": position});
        let params = json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": []}});
        let actions = self.request("textDocument/codeAction", params);
        self.check_ranges(text, &actions);
        let params = json!({"textDocument": {"uri": uri}, "positions": [position]});
        let selections = self.request("textDocument/selectionRange", params);
        self.check_ranges(text, &selections);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }

    /// An offset of a character.
    fn offset(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn examples() -> Vec<PathBuf> {
    let folders = ["examples", "examples/malformed", "examples/malformed/security"];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let files = files.map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    files.sort();
    files
}

#[test]
fn all_requests_are_answered_in_all_examples() {
    for utf8 in [false, true] {
        let mut client = Client::new(utf8, json!({"hints": {"memory": true}}));
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 + u64::from(utf8));
        for path in examples().iter().skip(usize::from(utf8)).step_by(2) {
            let (text, uri) = (std::fs::read_to_string(path).unwrap(), uri(path));
            if text.len() > 100_000 {
                continue;
            }
            client.open(&uri, &text);
            let found = client.diagnostics(&uri, 1);
            client.check_ranges(&text, &found);
            // What is malformed is reported.
            let is_malformed = text.starts_with("# ") && text.lines().next().unwrap().contains(" | verified: load ");
            assert!(!is_malformed || found.as_array().is_some_and(|found| !found.is_empty()), "{uri}");
            client.ask_whole(&uri, &text);
            let at = numbers.offset(&text);
            client.ask_at(&uri, &text, at);
            client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
        }
        client.close();
    }
}

#[test]
fn messages_after_random_edits_are_those_of_the_text() {
    const PIECES: &[&str] = &[
        "",
        "\n",
        "  ",
        ": ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "- ",
        "\"",
        "#",
        "\u{1f600}",
        "\u{e9}",
        "aten::relu.out",
        "out: z",
        "sizes: [2]",
        "1",
        "x",
        "tensor",
        "methods:\n",
        "\t",
        "*a",
        "&a ",
        "---\n",
        "${N}",
        "${N:3}",
        "\r\n",
        "|\n",
        "null",
    ];
    for (utf8, name) in [(false, "linear.yaml"), (true, "xnnpack_linear.yaml")] {
        let mut client = Client::new(utf8, json!({}));
        let path = root().join("examples").join(name);
        let (original, uri) = (std::fs::read_to_string(&path).unwrap(), uri(&path));
        let mut text = original.clone();
        client.open(&uri, &text);
        let (mut numbers, mut version) = (Numbers(7), 1);
        for edit in 0..500 {
            // Between the characters of an end of a line is no position of the protocol.
            let offset = |numbers: &mut Numbers, text: &str| {
                let at = numbers.offset(text);
                if text[..at].ends_with('\r') { at - 1 } else { at }
            };
            let start = offset(&mut numbers, &text);
            let mut end = (start + numbers.below(8)).min(text.len());
            while !text.is_char_boundary(end) || text[..end].ends_with('\r') && end > start {
                end -= 1;
            }
            let end = end.max(start);
            let piece = PIECES[numbers.below(PIECES.len())];
            let range = json!({"start": client.position(&text, start), "end": client.position(&text, end)});
            text.replace_range(start..end, piece);
            version += 1;
            let change = json!({"range": range, "text": piece});
            let document = json!({"uri": uri, "version": version});
            client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
            if edit % 25 == 24 {
                let at = offset(&mut numbers, &text);
                client.ask_at(&uri, &text, at);
                client.ask_whole(&uri, &text);
                let found = client.diagnostics(&uri, version);
                client.check_ranges(&text, &found);
                let mut fresh = Client::new(utf8, json!({}));
                fresh.open(&uri, &text);
                assert_eq!(found, fresh.diagnostics(&uri, 1), "{text}");
            }
            if edit % 50 == 49 {
                text.clone_from(&original);
                version += 1;
                let document = json!({"uri": uri, "version": version});
                let changes = json!([{"text": text}]);
                client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
            }
        }
        client.close();
    }
}

#[test]
fn positions_are_in_the_units_of_the_client() {
    let text = "# \u{1f600}\nmethods: {\"\u{1f600}\": {values: {n: 3}, outputs: [n]}}\n";
    for (utf8, column) in [(false, 43), (true, 45)] {
        let mut client = Client::new(utf8, json!({}));
        client.open("untitled:1", text);
        let position = json!({"line": 1, "character": column});
        assert_eq!(position, client.position(text, text.find("n]").unwrap()));
        let params = json!({"textDocument": {"uri": "untitled:1"}, "position": position});
        let definition = client.request("textDocument/definition", params);
        let at = client.position(text, text.find("n: 3").unwrap());
        assert_eq!(definition["range"]["start"], at);
        client.close();
    }
}

#[test]
fn hostile_texts_and_messages_have_messages() {
    let mut client = Client::new(true, json!({"runtime": "0.0.1", "unknown": 1}));
    let warned = (0..2).map(|_| client.receive()["params"]["message"].clone()).collect::<Vec<_>>();
    assert!(warned.iter().all(|message| message.as_str().unwrap().starts_with("pte-emit: ")), "{warned:?}");
    client.open("untitled:large", &" ".repeat((64 << 20) + 1));
    assert_eq!(client.diagnostics("untitled:large", 1)[0]["code"], "Y-35");
    client.open("untitled:binary", "\u{0}\u{1}\u{2}");
    assert_eq!(client.diagnostics("untitled:binary", 1)[0]["code"], "Y-45");
    client.open("untitled:half", "methods:\n  f:\n    inputs: [x");
    assert_eq!(client.diagnostics("untitled:half", 1)[0]["code"], "Y-1");
    let unknown = client.answer("textDocument/nothing", json!({"textDocument": {"uri": "untitled:half"}}));
    assert_eq!(unknown["error"]["code"], -32601);
    let closed = client.answer("textDocument/hover", json!({"textDocument": {"uri": "untitled:closed"}}));
    assert!(closed["error"]["message"].as_str().unwrap().contains("not open"));
    client.close();
}

/// The code of the error of an answer.
fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn malformed_messages_have_errors_and_the_server_lives() {
    let mut client = Client::raw();
    let early = client.answer("textDocument/hover", json!({}));
    assert_eq!(code(&early), -32002);
    client.notify("textDocument/didOpen", json!({}));
    let mut client = client.initialized(true, Value::Null);
    assert_eq!(code(&client.answer("initialize", json!({}))), -32600);
    for (body, expected) in [
        (&b"{]"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"{}", -32600),
        (b"[]", -32600),
        (br#"{"id": null, "method": "shutdown"}"#, -32600),
        (br#"{"id": [1], "method": "shutdown"}"#, -32600),
    ] {
        client.send_bytes(body);
        let answer = client.receive();
        assert!(answer["id"].is_null() && code(&answer) == expected, "{answer}");
    }
    let uri = "untitled:half";
    client.open(uri, "methods:\n  f:\n    inputs: [x");
    for method in ["hover", "rename", "inlayHint", "selectionRange", "codeAction", "semanticTokens/range"] {
        for params in [
            json!({}),
            json!(3),
            json!({"textDocument": {"uri": uri}}),
            json!({"textDocument": {"uri": uri}, "position": {"line": -1, "character": 1.5}, "range": [], "positions": [0]}),
        ] {
            let answer = client.answer(&format!("textDocument/{method}"), params.clone());
            assert_eq!(code(&answer), -32602, "{method} {params}: {answer}");
        }
    }
    for params in [json!({}), json!({"command": "sh", "arguments": [uri, "f"]})] {
        assert_eq!(code(&client.answer("workspace/executeCommand", params)), -32602);
    }
    for unsaved in ["untitled:half", "http://localhost/m.yaml", "file:///%"] {
        let params = json!({"command": "pte-emit.run", "arguments": [unsaved, "f"]});
        assert_eq!(code(&client.answer("workspace/executeCommand", params)), -32803);
    }
    for (method, params) in [
        ("didOpen", json!({"textDocument": {"uri": uri, "text": 3}})),
        ("didOpen", json!([])),
        ("didChange", json!({"textDocument": {"uri": "untitled:unknown"}, "contentChanges": []})),
        ("didChange", json!({"textDocument": {"uri": uri}, "contentChanges": 3})),
        ("didChange", json!({"textDocument": {"uri": uri}, "contentChanges": [{"range": 1, "text": "x"}]})),
        ("didClose", json!({"textDocument": {"uri": "untitled:unknown"}})),
        ("didClose", json!({"textDocument": {"uri": null}})),
    ] {
        client.notify(&format!("textDocument/{method}"), params.clone());
        let warned = client.until(|message| message["method"] == "window/showMessage");
        let text = warned["params"]["message"].as_str().unwrap().to_owned();
        assert!(text.starts_with(&format!("pte-emit: `textDocument/{method}` is ignored: ")), "{params}: {text}");
    }
    for (method, params) in [
        ("$/cancelRequest", json!({"id": {}})),
        ("window/workDoneProgress/cancel", json!(null)),
        ("workspace/didChangeConfiguration", json!(3)),
        ("unknown/notification", json!({})),
    ] {
        client.notify(method, params);
    }
    let hover = client
        .request("textDocument/hover", json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}}));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("methods"), "{hover}");
    let closed = client.answer("textDocument/hover", json!({"textDocument": {"uri": "http://unknown"}}));
    assert_eq!(code(&closed), -32803);
    assert_eq!(client.request("shutdown", Value::Null), Value::Null);
    assert_eq!(code(&client.answer("textDocument/hover", json!({}))), -32600);
    client.notify("exit", Value::Null);
    assert!(client.child.wait().unwrap().success());
    // `exit` without `shutdown` is status 1.
    let mut client = Client::new(true, json!({}));
    client.notify("exit", Value::Null);
    assert_eq!(client.child.wait().unwrap().code(), Some(1));
}

#[test]
fn input_that_is_no_message_ends_the_server_with_an_error() {
    for (bytes, message) in [
        ("garbage\r\n\r\n", "expected `Content-Length: BYTES`"),
        ("Content-Length: x\r\n\r\n", "expected a number of bytes in `Content-Length`"),
        ("Content-Length: 99999999999999999999999\r\n\r\n", "expected a number of bytes in `Content-Length`"),
        ("Content-Length: 4000000000000\r\n\r\n{}", "the input ends after 2 of 4000000000000 bytes"),
        ("Content-Length: 3\r\n\r\n{", "the input ends after 1 of 3 bytes"),
    ] {
        let mut client = Client::raw();
        client.input.as_mut().unwrap().write_all(bytes.as_bytes()).unwrap();
        drop(client.input.take());
        let status = client.child.wait().unwrap();
        let mut error = String::new();
        client.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert!(matches!(status.code(), Some(1 | 3)) && error.contains(message), "{bytes}: {status} {error}");
    }
}

#[test]
fn a_text_of_100_mb_is_not_analysed() {
    let mut client = Client::new(false, json!({}));
    let uri = "untitled:large";
    client.open(uri, &"# \u{e9}\n".repeat(20 << 20));
    assert_eq!(client.diagnostics(uri, 1)[0]["code"], "Y-35");
    let range = json!({"start": {"line": 1, "character": 0}, "end": {"line": 30 << 20, "character": 0}});
    let change = json!({"range": range, "text": "methods: {}\n"});
    let document = json!({"uri": uri, "version": 2});
    client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    client.diagnostics(uri, 2);
    let params = json!({"textDocument": {"uri": uri}, "position": {"line": 1, "character": 2}});
    assert!(!client.request("textDocument/hover", params).is_null());
    client.close();
}

/// The first messages of a large text, which has no errors, come before the findings.
#[test]
fn messages_of_a_large_text_come_in_steps() {
    let mut client = Client::new(false, json!({}));
    let uri = "untitled:large";
    let calls: String = (0..16_000)
        .map(|n| format!("      - {{kernel: aten::relu.out, args: [t{n}], out: t{}}}  # a step of the chain\n", n + 1))
        .collect();
    let text = format!(
        "methods:\n  f:\n    values: {{t0: {{tensor: float32, sizes: [2]}}, u: 3}}\n    inputs: [t0]\n    outputs: [t16000]\n    instructions:\n{calls}"
    );
    client.open(uri, &text);
    let mut lists = Vec::new();
    while lists.last().is_none_or(|list: &Value| list == &json!([])) {
        let message = client.until(|message| message["method"] == "textDocument/publishDiagnostics");
        lists.push(message["params"]["diagnostics"].clone());
    }
    assert_eq!(lists.len(), 2, "{lists:?}");
    assert!(lists[1].as_array().unwrap().iter().any(|message| message["code"] == "Y-40"), "{lists:?}");
    client.close();
}

/// A command whose runner hangs: the server answers, the command can be cancelled, and its runner ends.
#[cfg(unix)]
#[test]
fn a_command_that_hangs_does_not_block_the_server() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (yaml, script, pids) = (folder.path().join("m.yaml"), folder.path().join("runner"), folder.path().join("pids"));
    let text = "methods: {f: {values: {n: 3}, outputs: [n]}}\n";
    std::fs::write(&yaml, text).unwrap();
    std::fs::write(&script, format!("#!/bin/sh\necho $$ >> '{}'\nexec sleep 1000\n", pids.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pte-emit"));
    let mut client = Client::with(command.env("PTE_EMIT_RUNNER", &script)).initialized(true, json!({}));
    let uri = uri(&yaml);
    client.open(&uri, text);
    let run = |token: &Value| json!({"command": "pte-emit.run", "arguments": [uri, "f"], "workDoneToken": token});
    let runners = || std::fs::read_to_string(&pids).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    for (round, token) in [json!("token"), json!(7), Value::Null].into_iter().enumerate() {
        let id = client.start("workspace/executeCommand", run(&token));
        // The runner has begun.
        while runners().len() <= round {
            std::thread::sleep(Duration::from_millis(5));
        }
        let position = json!({"line": 0, "character": 24});
        let hover = client.request("textDocument/hover", json!({"textDocument": {"uri": uri}, "position": position}));
        assert!(hover["contents"]["value"].as_str().unwrap().contains("value"), "{hover}");
        if round == 0 {
            client.notify("window/workDoneProgress/cancel", json!({"token": token}));
            let end = client.until(|message| message["params"]["value"]["kind"] == "end");
            assert_eq!(end["params"]["token"], token);
        } else {
            client.notify("$/cancelRequest", json!({"id": id}));
        }
        let answer = client.until(|message| message["id"] == id);
        assert_eq!(code(&answer), -32800, "{answer}");
        let runner = &runners()[round];
        // It is killed with the command, not only left.
        assert!(!Path::new("/proc/self").exists() || !Path::new("/proc").join(runner).join("exe").exists());
    }
    // Commands beyond the limit are refused, and those that run end with the server.
    (0..8).for_each(|_| _ = client.start("workspace/executeCommand", run(&Value::Null)));
    let refused = client.answer("workspace/executeCommand", run(&Value::Null));
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("8 commands are running"), "{refused}");
    client.close();
    assert!(runners().iter().all(|runner| !Path::new("/proc").join(runner).join("exe").exists()));
}

#[test]
fn a_file_that_disappears_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (yaml, data) = (folder.path().join("m.yaml"), folder.path().join("w.bin"));
    std::fs::write(&data, [1, 2, 3, 4]).unwrap();
    let mut client = Client::new(true, json!({}));
    client.open(&uri(&yaml), "named_data: {w: {file: w.bin}}\n");
    assert_eq!(client.diagnostics(&uri(&yaml), 1), json!([]));
    std::fs::remove_file(&data).unwrap();
    client.diagnostics.clear();
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": uri(&data), "type": 3}]}));
    let found = client.diagnostics(&uri(&yaml), 1);
    assert!(found[0]["message"].as_str().unwrap().contains("w.bin"), "{found}");
    client.close();
}

/// A file that is saved or changes is one of the texts that refer to it, not of others, and not of its own text.
#[test]
fn only_texts_that_refer_to_a_file_are_analysed_again() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, c, data] = ["a.yaml", "b.yaml", "c.yaml", "data/w.bin"].map(|name| uri(&folder.path().join(name)));
    let mut client = Client::new(true, json!({}));
    let shards = "named_data: {k: {safetensors: shards/index.json, key: x}}\n";
    for (uri, text) in [(&a, "methods: {}\n"), (&b, "named_data: {w: {file: data/w.bin}}\n"), (&c, shards)] {
        client.open(uri, text);
        client.diagnostics(uri, 1);
    }
    assert!(client.diagnostics[&b].1[0]["message"].as_str().unwrap().contains("w.bin"));
    let analysed = |client: &mut Client, method: &str, changed: &[&str]| {
        client.diagnostics.clear();
        for uri in changed {
            let document = json!({"uri": uri, "type": 1});
            client.notify(method, json!({"textDocument": document, "changes": [document]}));
        }
        // The last one in the order of messages.
        client.open("untitled:last", "");
        client.diagnostics("untitled:last", 1);
        ["a.yaml", "b.yaml", "c.yaml"].map(|name| client.diagnostics.keys().any(|uri| uri.ends_with(name)))
    };
    let save = "textDocument/didSave";
    assert_eq!(analysed(&mut client, save, &[&a, &b, &c, "untitled:last", "file:///%"]), [false; 3]);
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/w.bin"), [1, 2]).unwrap();
    let watched = "workspace/didChangeWatchedFiles";
    assert_eq!(analysed(&mut client, watched, &[&data]), [false, true, false]);
    assert_eq!(client.diagnostics[&b].1, json!([]));
    assert_eq!(analysed(&mut client, save, &[&data]), [false, true, false]);
    std::fs::remove_dir_all(folder.path().join("data")).unwrap();
    assert_eq!(analysed(&mut client, watched, &[data.strip_suffix("/w.bin").unwrap()]), [false, true, false]);
    assert_ne!(client.diagnostics[&b].1, json!([]));
    let shard = uri(&folder.path().join("shards/1.safetensors"));
    assert_eq!(analysed(&mut client, watched, &[&shard]), [false, false, true]);
    client.close();
}

/// While a large text is analysed, requests about an older text and cancelled ones are not answered, and of changes in
/// a row only the last one has messages.
#[test]
fn what_is_outdated_is_not_computed() {
    let mut client = Client::new(true, json!({}));
    client.open("untitled:small", "methods: {f: {values: {n: 0}, outputs: [n]}}\n");
    client.diagnostics("untitled:small", 1);
    let calls: String =
        (0..4000).map(|n| format!("      - {{kernel: aten::relu.out, args: [t{n}], out: t{}}}\n", n + 1)).collect();
    let large = format!(
        "methods:\n  f:\n    values: {{t0: {{tensor: float32, sizes: [2]}}}}\n    inputs: [t0]\n    outputs: [t4000]\n    instructions:\n{calls}"
    );
    client.open("untitled:large", &large);
    let hover = |client: &mut Client| {
        let params = json!({"textDocument": {"uri": "untitled:small"}, "position": {"line": 0, "character": 23}});
        client.start("textDocument/hover", params)
    };
    let mut ids = Vec::new();
    for version in 2..=11 {
        let text = format!("methods: {{f: {{values: {{n: {version}}}, outputs: [n]}}}}\n");
        let document = json!({"uri": "untitled:small", "version": version});
        client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [{"text": text}]}));
        ids.push(hover(&mut client));
    }
    let cancelled = hover(&mut client);
    client.notify("$/cancelRequest", json!({"id": cancelled}));
    let (mut answers, mut versions) = (HashMap::new(), Vec::new());
    while answers.len() < 11 || versions.is_empty() {
        let message = client.receive();
        match message["id"].as_i64() {
            Some(id) => _ = answers.insert(id, message),
            None if message["params"]["uri"] == "untitled:small" => versions.push(message["params"]["version"].clone()),
            None => {}
        }
    }
    assert_eq!(versions, [json!(11)]);
    let last = ids.pop().unwrap();
    assert!(ids.iter().all(|id| code(&answers[id]) == -32801), "{answers:?}");
    assert_eq!(code(&answers[&cancelled]), -32800);
    assert!(answers[&last]["result"]["contents"]["value"].as_str().unwrap().contains("11"), "{answers:?}");
    client.close();
}

/// Names are those of the files as they are, and of the texts that are open.
#[test]
fn names_are_found_in_the_folders_of_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.yaml");
    let text = |name: &str| format!("methods:\n  {name}: {{values: {{n: 3}}, outputs: [n]}}\n");
    std::fs::write(&path, text("alpha")).unwrap();
    let mut client = Client::new(true, json!({}));
    let names = |client: &mut Client| {
        let found = client.request("workspace/symbol", json!({"query": "A"}));
        let name = |item: &Value| format!("{} {}", item["containerName"].as_str().unwrap(), item["name"]);
        found.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut client), [""; 0]);
    let change = |client: &mut Client, removed: &[&str], added: &[&str]| {
        let folders = |uris: &[&str]| uris.iter().map(|uri| json!({"uri": uri, "name": "x"})).collect::<Vec<_>>();
        let event = json!({"removed": folders(removed), "added": folders(added)});
        client.notify("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    };
    let root = uri(folder.path());
    change(&mut client, &[], &[&root, "untitled:none"]);
    assert_eq!(names(&mut client), [" \"alpha\""]);
    std::fs::write(&path, text("alphabet")).unwrap();
    assert_eq!(names(&mut client), [" \"alphabet\""]);
    client.open(&uri(&path), &text("a").replace('n', "na"));
    assert_eq!(names(&mut client), [" \"a\"", "a \"na\""]);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri(&path)}}));
    assert_eq!(names(&mut client), [" \"alphabet\""]);
    change(&mut client, &[&root], &[]);
    assert_eq!(names(&mut client), [""; 0]);
    client.close();
}

/// A client that supports it is asked to watch files, and to ask for answers again that have changed.
#[test]
fn the_client_is_asked_to_watch_files_and_to_ask_again() {
    let mut client = Client::raw();
    let refreshes = ["inlayHint", "codeLens", "semanticTokens"];
    let mut workspace = json!({"didChangeWatchedFiles": {"dynamicRegistration": true}});
    refreshes.iter().for_each(|answer| workspace[answer] = json!({"refreshSupport": true}));
    let capabilities = client.request("initialize", json!({"capabilities": {"workspace": workspace}}));
    let folders = &capabilities["capabilities"]["workspace"]["workspaceFolders"];
    assert_eq!(*folders, json!({"supported": true, "changeNotifications": true}));
    client.notify("initialized", json!({}));
    let registered = client.receive();
    assert_eq!(registered["method"], "client/registerCapability");
    assert_eq!(registered["params"]["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    client.open("untitled:1", "named_data: {w: {file: /missing.bin}}\n");
    client.diagnostics("untitled:1", 1);
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": "file:///missing.bin"}]}));
    assert_eq!(client.receive()["method"], "workspace/inlayHint/refresh");
    client.diagnostics.clear();
    client.diagnostics("untitled:1", 1);
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"hints": {"types": false}}}));
    for answer in refreshes {
        assert_eq!(client.receive()["method"], format!("workspace/{answer}/refresh"));
    }
    client.close();
}

#[test]
fn commands_are_those_of_the_command_line() {
    let mut client = Client::new(true, json!({}));
    let linear = uri(&root().join("examples/linear.yaml"));
    let memory = client
        .request("workspace/executeCommand", json!({"command": "pte-emit.memory", "arguments": [linear, "forward"]}));
    assert!(memory["status"] == 0 && memory["text"].as_str().unwrap().contains("planned memory: 80 bytes"), "{memory}");
    let report = client
        .request("workspace/executeCommand", json!({"command": "pte-emit.report", "arguments": [linear, "forward"]}));
    let page = report["file"].as_str().unwrap().strip_prefix("file://").unwrap().to_owned();
    assert!(std::fs::read_to_string(&page).unwrap().contains("<html"), "{report}");
    std::fs::remove_file(page).unwrap();
    let symbols = client.request("workspace/symbol", json!({"query": "weight"}));
    assert_eq!(symbols, json!([]));
    client.close();
}

/// Numbers of a text are written to a file, to which the client is asked to refer; the assembled bytes are the same.
#[test]
fn numbers_are_moved_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = folder.path().join("m.yaml");
    let text = "methods: {f: {values: {w: {tensor: int16, sizes: [2, 2], data: [[1, 2], [3, 4]]}}, outputs: [w], tests: [{}]}}\n";
    std::fs::write(&yaml, text).unwrap();
    let mut client = Client::raw();
    let workspace = json!({"applyEdit": true, "workspaceEdit": {"documentChanges": true}});
    client.request("initialize", json!({"capabilities": {"workspace": workspace}}));
    client.notify("initialized", json!({}));
    let uri = uri(&yaml);
    client.open(&uri, text);
    let at = |word: &str| json!({"line": 0, "character": text.find(word).unwrap()});
    let actions = |client: &mut Client, word: &str| {
        let params = json!({"textDocument": {"uri": uri}, "range": {"start": at(word), "end": at(word)}, "context": {"diagnostics": []}});
        let found = client.request("textDocument/codeAction", params);
        let found = found.as_array().unwrap().iter().map(|action| action["command"].clone());
        found.filter(|command| !command.is_null()).collect::<Vec<Value>>()
    };
    let bless = actions(&mut client, "{}");
    assert_eq!(
        (bless.len(), &bless[0]["command"], &bless[0]["arguments"]),
        (1, &json!("pte-emit.bless"), &json!([uri, "f"]))
    );
    let moved = actions(&mut client, "3, 4");
    assert_eq!((moved.len(), &moved[0]["title"]), (1, &json!("move these numbers to `w.npy`")));
    let id = client.start("workspace/executeCommand", moved[0].clone());
    let request = client.until(|message| message["method"] == "workspace/applyEdit");
    let answer = client.until(|message| message["id"] == id);
    assert!(answer["result"].as_str().unwrap().ends_with("/w.npy"), "{answer}");
    let change = &request["params"]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"], json!({"uri": uri, "version": 1}));
    assert_eq!(change["edits"][0]["newText"], "{npy: w.npy}");
    std::fs::write(&yaml, text.replace("[[1, 2], [3, 4]]", "{npy: w.npy}")).unwrap();
    let [before, after] =
        [pte_emit::Model::from_yaml("m.yaml", text, folder.path()), pte_emit::Model::open(&yaml).unwrap()];
    assert!(before.diff(&after, &Default::default()).unwrap().is_empty());
    // The text has changed since; a file that exists stays as it is.
    client.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "{}"}]}),
    );
    let late = client.answer("workspace/executeCommand", moved[0].clone());
    assert_eq!(late["error"]["message"], "there is no list of numbers here that an .npy file can hold");
    client.close();
}

/// Commands have the variables and the folder of the settings; a configuration may be a section, its content or null.
#[test]
fn commands_have_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let (yaml, outside) = (folder.path().join("m.yaml"), tempfile::tempdir().unwrap());
    let text = "methods: {f: {values: {x: {tensor: float32, sizes: [\"${N}\"]}}, inputs: [x], outputs: [x]}}\n";
    std::fs::write(&yaml, text).unwrap();
    let mut client = Client::new(true, json!({"definitions": {"N": 4}}));
    let uri = uri(&yaml);
    client.open(&uri, text);
    let arguments = json!({"command": "pte-emit.memory", "arguments": [uri, "f"]});
    assert_eq!(client.request("workspace/executeCommand", arguments.clone())["status"], 0);
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    assert_eq!(client.request("workspace/executeCommand", arguments.clone())["status"], 0);
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"hints": {"memory": true}}}));
    let undefined = client.request("workspace/executeCommand", arguments.clone());
    assert!(undefined["text"].as_str().unwrap().contains("`N`"), "{undefined}");
    let settings = json!({"definitions": {"N": "4"}, "confine": outside.path()});
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"pte-emit": settings}}));
    assert_eq!(client.request("workspace/executeCommand", arguments)["status"], 0);
    client.close();
}

#[test]
fn a_text_is_laid_out() {
    let mut client = Client::new(true, json!({}));
    let uri = "untitled:laid-out";
    client.open(uri, "methods:   {f: {outputs: [1]}} # one\n");
    let params = json!({"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": true}});
    let edits = client.request("textDocument/formatting", params.clone());
    let change = json!([{"range": edits[0]["range"], "text": edits[0]["newText"]}]);
    let document = json!({"uri": uri, "version": 2});
    client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": change}));
    let symbols = client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": uri}}));
    assert_eq!(symbols[0]["children"][0]["range"]["start"], json!({"line": 1, "character": 2}), "{symbols}");
    assert_eq!(client.request("textDocument/formatting", params.clone()), json!([]));
    let document = json!({"uri": uri, "version": 3});
    client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [{"text": "a: [b"}]}));
    assert!(client.answer("textDocument/formatting", params)["error"]["message"].is_string());
    client.close();
}

/// Neovim shows messages, describes a name, completes, renames and lays out (tests/neovim/client.lua).
#[test]
#[ignore = "needs nvim"]
fn neovim_is_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("add.pte.yaml");
    let text = "\
methods:
  forward:
    values: {x: {tensor: float32, sizes: [2]}}   # \u{e9} \u{1f600}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [x, x], out: s}
      - {kernel: aten::re, args: [s], out: y}
";
    std::fs::write(&path, text).unwrap();
    let mut nvim = Command::new("nvim");
    nvim.args(["--headless", "--clean", "-n", "-i", "NONE", "-S"]).arg(root().join("tests/neovim/client.lua"));
    nvim.env("PTE_EMIT", env!("CARGO_BIN_EXE_pte-emit")).env("PTE_EMIT_TEXT", &path).env("HOME", folder.path());
    let output = nvim.output().expect("nvim, as Debian's package neovim");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["messages"][0], "8: the runtime registers no operator `aten::re`: unknown");
    let hover = found["hover"].as_str().unwrap();
    assert!(hover.contains("`float32 [2]`") && hover.contains("written by instruction `0`"), "{hover}");
    assert_eq!(found["completions"], true);
    let expected = "\
methods:
  forward:
    values:  # \u{e9} \u{1f600}
      x: {tensor: float32, sizes: [2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [x, x], out: sum}
      - {kernel: aten::relu.out, args: [sum], out: y}";
    assert_eq!(found["text"], expected);
}
