//! Files that are something else than a program, or were damaged on their way: every command says what they are.

use crate::support::folder::Folder;

/// Name, bytes, and what a message says.
fn files() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let program = pte_model::LINEAR_PTE;
    let zeros = [0; 80];
    let with = |magic: &[u8]| [magic, &zeros].concat();
    let converted = program.iter().chain(b"\n\n\n").flat_map(|byte| match byte {
        b'\n' => vec![b'\r', b'\n'],
        other => vec![*other],
    });
    // Its vtable is where a header would be.
    let mut pasted = program.to_vec();
    pasted[..4].copy_from_slice(&20u32.to_le_bytes());
    vec![
        ("pasted.pte", pasted, "an extended header over the bytes of its FlatBuffer"),
        ("lfs.pte", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n".to_vec(), "git lfs pull"),
        ("page.pte", b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n".to_vec(), "an HTML page"),
        ("model.pt2", with(b"PK\x03\x04"), "a zip archive"),
        ("model.onnx", b"\x08\x0a\x12\x07pytorch\x1a\x052.8.0".to_vec(), "a model of ONNX"),
        ("model.tflite", with(b"\x1c\0\0\0TFL3"), "a model of TensorFlow Lite"),
        ("model.gguf", with(b"GGUF"), "a GGUF"),
        ("trace.pte", with(b"\x1c\0\0\0ED00"), "an ETDump"),
        ("text.pte", b"methods: {}\n".to_vec(), " text"),
        ("empty.pte", Vec::new(), "empty"),
        ("cut.pte", program[..program.len() - 100].to_vec(), "100 bytes are missing"),
        ("lines.pte", converted.collect(), "every line feed follows a carriage return"),
    ]
}

#[test]
fn every_command_says_what_a_file_is() {
    let folder = Folder::new(&[]);
    for (name, bytes, expected) in files() {
        // Under its own name, and as a program.
        for name in [name, "model.pte"] {
            folder.write(name, &bytes);
            for command in [&["check"][..], &["inspect"], &["annotate"], &["dump"], &["size"], &["memory"]] {
                let done = folder.run(&[command, &[name]].concat());
                let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
                // The parts of a damaged file that can be read are printed; `annotate` describes any bytes.
                let has_parts = expected == "empty"
                    || expected.contains("missing")
                    || expected.contains("line feed")
                    || expected.contains("extended header")
                    || command == ["annotate"];
                assert!(said.contains(expected) || has_parts && done.code == Some(0), "{command:?} {name}: {said}");
            }
        }
    }
}
