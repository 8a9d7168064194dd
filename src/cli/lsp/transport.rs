//! Messages of JSON-RPC on standard input and output: a header with the length, then JSON. Nothing here knows what a
//! method means.

use std::io::{self, BufRead, Error, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use pte_emit::language::MAX_TEXT;
use serde_json::{Value, json};

/// Maximum size of a message in bytes: the largest text that is analysed, with all of its characters escaped. Larger
/// ones are skipped.
pub const MAX_MESSAGE: u64 = 6 * MAX_TEXT as u64 + (1 << 20);
/// Maximum size of a header in bytes.
const MAX_HEADER: u64 = 8 << 10;

/// Codes of errors, of JSON-RPC and of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The message is not JSON.
    ParseError = -32700,
    /// The message is no request, or may not be sent in this state.
    InvalidRequest = -32600,
    /// Unknown method.
    MethodNotFound = -32601,
    /// The method does not have these parameters.
    InvalidParams = -32602,
    /// Defect of the server.
    InternalError = -32603,
    /// A request before `initialize`.
    ServerNotInitialized = -32002,
    /// The client has cancelled the request.
    RequestCancelled = -32800,
    /// The text of the request has changed since.
    ContentModified = -32801,
    /// The request is valid, but has no result; the message says why.
    RequestFailed = -32803,
}

/// Error of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct ResponseError {
    /// Code.
    pub code: ErrorCode,
    /// Message for the user.
    pub message: String,
}

impl ResponseError {
    /// Creates an error.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> ResponseError {
        ResponseError { code, message: message.into() }
    }
}

impl From<String> for ResponseError {
    fn from(message: String) -> ResponseError {
        ResponseError::new(ErrorCode::RequestFailed, message)
    }
}

/// A message of the client.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// Expects an answer with its id, a string or a number.
    Request {
        /// Id.
        id: Value,
        /// Method.
        method: String,
        /// Parameters.
        params: Value,
    },
    /// Expects no answer.
    Notification {
        /// Method.
        method: String,
        /// Parameters.
        params: Value,
    },
    /// Answer of a request of the server.
    Response,
    /// None of them; the error is its answer.
    Invalid(ResponseError),
}

/// Reads a message; `None` at the end of the input.
///
/// # Errors
/// A header that does not say where the message ends, or an input that ends before.
pub fn read(input: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let Some(size) = read_header(input)? else { return Ok(None) };
    let mut body = Vec::new();
    // Memory is that of the bytes that are read, not that of the header.
    let read = match size <= MAX_MESSAGE {
        true => input.take(size).read_to_end(&mut body)? as u64,
        false => io::copy(&mut input.take(size), &mut io::sink())?,
    };
    if read < size {
        let message = format!("the input ends after {read} of {size} bytes of a message");
        return Err(Error::new(ErrorKind::UnexpectedEof, message));
    }
    if size > MAX_MESSAGE {
        let message = format!("the message has {size} bytes, more than the {MAX_MESSAGE} that are read");
        return Ok(Some(Incoming::Invalid(ResponseError::new(ErrorCode::InvalidRequest, message))));
    }
    Ok(Some(message(&body)))
}

/// Reads a header, and returns the length of the message after it.
fn read_header(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let malformed = |message: String| Err(Error::new(ErrorKind::InvalidData, message));
    let (mut size, mut left, mut is_first) = (None, MAX_HEADER, true);
    loop {
        let mut line = Vec::new();
        let read = input.take(left).read_until(b'\n', &mut line)? as u64;
        if read == 0 && is_first && left > 0 {
            return Ok(None);
        }
        (left, is_first) = (left - read, false);
        let text = String::from_utf8_lossy(&line);
        let Some(text) = text.strip_suffix('\n') else {
            let start: String = text.chars().take(80).collect();
            return malformed(format!("expected a line of a header, found {start:?}"));
        };
        match text.trim_end_matches('\r').split_once(':') {
            None if text.trim_end_matches('\r').is_empty() => break,
            None => return malformed(format!("expected `Content-Length: BYTES`, found {text:?}")),
            Some((name, value)) if name.eq_ignore_ascii_case("Content-Length") => match value.trim().parse() {
                Ok(length) => size = Some(length),
                Err(_) => return malformed(format!("expected a number of bytes in `Content-Length`, found {value:?}")),
            },
            // `Content-Type` has one value.
            Some(_) => {}
        }
    }
    if size.is_none() {
        return malformed("a header has no `Content-Length`".to_owned());
    }
    Ok(size)
}

/// Reads the JSON of a message.
fn message(body: &[u8]) -> Incoming {
    let mut message: Value = match serde_json::from_slice(body) {
        Ok(message) => message,
        Err(error) => {
            let message = format!("the message is not JSON: {error}");
            return Incoming::Invalid(ResponseError::new(ErrorCode::ParseError, message));
        }
    };
    let mut part = |name: &str| message.get_mut(name).map(Value::take);
    let (id, method, params) = (part("id"), part("method"), part("params").unwrap_or_default());
    match (id, method) {
        (Some(id @ (Value::String(_) | Value::Number(_))), Some(Value::String(method))) => {
            Incoming::Request { id, method, params }
        }
        (None, Some(Value::String(method))) => Incoming::Notification { method, params },
        (Some(_), None) if message.get("result").is_some() || message.get("error").is_some() => Incoming::Response,
        _ => {
            let message = "expected an object with `method`, a string, and for a request `id`, a string or a number";
            Incoming::Invalid(ResponseError::new(ErrorCode::InvalidRequest, message))
        }
    }
}

/// Sends a message. A client that does not read any more has ended: that is no error.
fn send(message: &Value) {
    let body = message.to_string();
    let mut output = io::stdout().lock();
    let _ = write!(output, "Content-Length: {}\r\n\r\n{body}", body.len()).and_then(|()| output.flush());
}

/// Sends a notification.
pub fn notify(method: &str, params: &Value) {
    send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
}

/// Sends a request, whose answer is ignored.
pub fn request(method: &str, params: &Value) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = format!("pte-emit {}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    if !params.is_null() {
        message["params"] = params.clone();
    }
    send(&message);
}

/// Answers a request.
pub fn respond(id: &Value, result: Result<Value, ResponseError>) {
    send(&match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(ResponseError { code, message }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code as i32, "message": message}})
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> io::Result<Option<Incoming>> {
        read(&mut text.as_bytes())
    }

    #[test]
    fn messages_are_read() {
        let request = |body: &str| found(&format!("content-length: {}\r\nContent-Type: x\r\n\r\n{body}", body.len()));
        let method = "m".to_owned();
        let expected = Incoming::Request { id: json!(1e10), method: method.clone(), params: Value::Null };
        assert_eq!(request(r#"{"id": 1e10, "method": "m"}"#).unwrap(), Some(expected));
        let expected = Incoming::Notification { method, params: json!([1]) };
        assert_eq!(request(r#"{"method": "m", "params": [1]}"#).unwrap(), Some(expected));
        assert_eq!(request(r#"{"id": "a", "result": null}"#).unwrap(), Some(Incoming::Response));
        assert_eq!(found("").unwrap(), None);
        for (body, code) in [
            ("{]", ErrorCode::ParseError),
            ("\u{0}", ErrorCode::ParseError),
            (&"[".repeat(1 << 20), ErrorCode::ParseError),
            ("3", ErrorCode::InvalidRequest),
            ("[]", ErrorCode::InvalidRequest),
            ("{}", ErrorCode::InvalidRequest),
            (r#"{"id": null, "method": "m"}"#, ErrorCode::InvalidRequest),
            (r#"{"id": 1, "method": 3}"#, ErrorCode::InvalidRequest),
        ] {
            let Some(Incoming::Invalid(error)) = request(body).unwrap() else { panic!("{body}") };
            assert_eq!(error.code, code, "{body}");
        }
    }

    #[test]
    fn malformed_headers_are_errors() {
        for (text, message) in [
            ("garbage\r\n\r\n", "expected `Content-Length: BYTES`, found \"garbage\\r\""),
            ("Content-Length: x\r\n\r\n", "expected a number of bytes"),
            ("Content-Length: -1\r\n\r\n", "expected a number of bytes"),
            ("Content-Length: 100000000000000000000000\r\n\r\n", "expected a number of bytes"),
            ("\r\n", "a header has no `Content-Length`"),
            ("Content-Length: 2", "expected a line of a header"),
            ("Content-Length: 9\r\n\r\n{}", "the input ends after 2 of 9 bytes"),
            ("Content-Length: 4000000000000\r\n\r\n{}", "the input ends after 2 of 4000000000000 bytes"),
            (&"x: y\n".repeat(2000), "expected a line of a header"),
            (&"x".repeat(1 << 20), "expected a line of a header"),
        ] {
            let error = found(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_large_message_is_skipped() {
        let head = format!("Content-Length: {}\r\n\r\n", MAX_MESSAGE + 1);
        let after = "Content-Length: 14\r\n\r\n{\"method\":\"m\"}";
        let body = io::repeat(b' ').take(MAX_MESSAGE + 1);
        let mut input = io::BufReader::new(head.as_bytes().chain(body).chain(after.as_bytes()));
        let Some(Incoming::Invalid(error)) = read(&mut input).unwrap() else { panic!("it is read") };
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        let expected = Incoming::Notification { method: "m".to_owned(), params: Value::Null };
        assert_eq!(read(&mut input).unwrap(), Some(expected));
    }
}
