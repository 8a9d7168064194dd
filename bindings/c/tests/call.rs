//! The functions as C calls them.

use std::ffi::CStr;
use std::{ptr, slice};

use pte_emit_c::*;

/// Calls with files in memory and by path, and returns the JSON and the files.
fn call(request: &str, files: &[(&str, Result<&[u8], &str>)]) -> (String, Vec<(String, Vec<u8>)>) {
    let files: Vec<pte_emit_file> = files
        .iter()
        .map(|(name, content)| {
            let (bytes, path) = (content.ok(), content.err());
            pte_emit_file {
                name: name.as_ptr().cast(),
                name_length: name.len(),
                bytes: bytes.map_or(ptr::null(), <[u8]>::as_ptr),
                length: bytes.map_or(0, <[u8]>::len),
                path: path.map_or(ptr::null(), str::as_ptr).cast(),
                path_length: path.map_or(0, str::len),
            }
        })
        .collect();
    // SAFETY: the pointers are those of slices and strings that outlive the call, and the answer is freed last.
    unsafe {
        let answer = pte_emit_call(request.as_ptr().cast(), request.len(), files.as_ptr(), files.len());
        let mut length = 0;
        let json = pte_emit_answer_json(answer, &mut length).cast();
        let json = str::from_utf8(slice::from_raw_parts(json, length)).unwrap().to_owned();
        let mut written = Vec::new();
        for index in 0..pte_emit_answer_file_count(answer) {
            let name = pte_emit_answer_file_name(answer, index, &mut length).cast();
            let name = str::from_utf8(slice::from_raw_parts(name, length)).unwrap().to_owned();
            let bytes = pte_emit_answer_file_bytes(answer, index, &mut length);
            written.push((name, slice::from_raw_parts(bytes, length).to_vec()));
        }
        assert!(pte_emit_answer_file_bytes(answer, written.len(), ptr::null_mut()).is_null());
        pte_emit_answer_free(answer);
        (json, written)
    }
}

#[test]
fn files_are_in_memory_or_of_the_file_system() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/add.yaml");
    let (json, files) = call(r#"{"command": "assemble", "input": "add.yaml"}"#, &[("add.yaml", Err(example))]);
    assert!(json.contains(r#""files":[{"name":"add.pte""#), "{json}");
    let (json, _) = call(r#"{"command": "check", "input": "add.pte"}"#, &[("add.pte", Ok(&files[0].1))]);
    assert!(json.contains(r#""errors":0"#), "{json}");
    let (json, _) = call(r#"{"command": "check", "input": "a.pte"}"#, &[("a.pte", Err("/missing/a.pte"))]);
    assert!(json.contains("cannot read /missing/a.pte"), "{json}");
    // YAML cannot read another file.
    let yaml = format!("named_data: {{x: {{file: {example}}}}}");
    let (json, _) = call(r#"{"command": "assemble", "input": "x.yaml"}"#, &[("x.yaml", Ok(yaml.as_bytes()))]);
    assert!(json.contains("no such file among those of the call"), "{json}");
}

/// A named pipe has no writer, and a device no end.
#[cfg(unix)]
#[test]
fn only_regular_files_are_read() {
    let folder = std::env::temp_dir().join(format!("pte-emit-c-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let pipe = folder.join("pipe").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let paths = [pipe.as_str(), "/dev/zero", folder.to_str().unwrap()].map(str::to_owned);
    let (send, answers) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for path in paths {
            let (json, _) = call(r#"{"command": "check", "input": "a.pte"}"#, &[("a.pte", Err(&path))]);
            send.send((format!("cannot read {path}: expected a regular file"), json)).unwrap();
        }
    });
    for _ in 0..3 {
        let (expected, json) = answers.recv_timeout(std::time::Duration::from_secs(10)).expect("it does not wait");
        assert!(json.contains(&expected), "{json}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn null_with_a_length_is_an_error() {
    let text = r#"{"command": "check", "input": "a.pte"}"#;
    let request = text.as_ptr().cast();
    let (null, name) = (ptr::null(), "a.pte");
    let of = |length, path_length| pte_emit_file {
        name: name.as_ptr().cast(),
        name_length: name.len(),
        bytes: null,
        length,
        path: ptr::null(),
        path_length,
    };
    let (bytes, path) = (of(10, 0), of(0, 10));
    for (request, files, count, expected) in [
        (request, &raw const bytes, 1, "the bytes of a.pte: expected a pointer to 10 items, found null"),
        (request, &raw const path, 1, "the path of a.pte: expected a pointer to 10 items, found null"),
        (request, ptr::null(), 2, "the files: expected a pointer to 2 items, found null"),
        (ptr::null(), ptr::null(), 0, "the request: expected a pointer to"),
    ] {
        let mut length = text.len();
        // SAFETY: null is allowed, and the other pointers are valid for the call; the answer is freed last.
        unsafe {
            let answer = pte_emit_call(request, length, files, count);
            let json = pte_emit_answer_json(answer, &mut length).cast();
            let json = str::from_utf8(slice::from_raw_parts(json, length)).unwrap().to_owned();
            pte_emit_answer_free(answer);
            assert!(json.contains(expected), "{json}");
        }
    }
}

#[test]
fn every_request_has_an_answer() {
    for request in ["", "{", "[]", "{}", r#"{"command": "none"}"#] {
        let (json, files) = call(request, &[]);
        assert!(json.starts_with(r#"{"error":{"message":"#) && files.is_empty(), "{json}");
    }
    // SAFETY: null is allowed.
    unsafe {
        pte_emit_answer_free(pte_emit_call(ptr::null(), 0, ptr::null(), 0));
        pte_emit_answer_free(ptr::null_mut());
        assert_eq!(CStr::from_ptr(pte_emit_version()).to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
