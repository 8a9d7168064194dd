//! The library writes to no stream and reads no environment: what it says is in results. The command line and tests are
//! excepted.

use crate::support::root;

/// Macros and functions that the library does not call.
const FORBIDDEN: [&str; 6] = ["eprintln!", "eprint!", "println!", "print!", "dbg!", "env::var"];

/// Returns the lines that have one, outside of comments. A file ends at a module of unit tests that it contains.
fn forbidden(code: &str) -> Vec<String> {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let begins_tests =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{');
    let end = lines.windows(2).position(begins_tests).unwrap_or(lines.len());
    let code = lines[..end].iter().enumerate().filter(|(_, line)| !line.starts_with("//"));
    let is_word = |line: &str, at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let has = |line: &str| FORBIDDEN.iter().any(|word| line.match_indices(word).any(|(at, _)| is_word(line, at)));
    code.filter(|(_, line)| has(line)).map(|(number, line)| format!("{}: {line}", number + 1)).collect()
}

#[test]
fn the_library_prints_nothing() {
    let code = "/// println!()\n#[cfg(test)]\nmod tests;\nfn f() {\n  if std::env::var_os(\"X\").is_some() {\n    eprintln!();\n  }\n  g::println!();\n  my_print!();\n}\n#[cfg(test)]\nmod tests {\n  dbg!()\n}";
    let numbers: Vec<String> = forbidden(code).iter().map(|line| line[..1].to_owned()).collect();
    assert_eq!(numbers, ["5", "6", "8"]);
    let mut files = 0;
    let mut folders = vec![root().join("src"), root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap();
            let is_except = ["cli", "tests", "main.rs", "tests.rs", "benches", "examples", "build.rs"].contains(&name);
            if is_except {
                continue;
            }
            if entry.is_dir() {
                folders.push(entry);
            } else if name.ends_with(".rs") {
                files += 1;
                let found = forbidden(&std::fs::read_to_string(&entry).unwrap());
                assert!(found.is_empty(), "{}: {found:#?}", entry.display());
            }
        }
    }
    assert!(files > 100, "{files} files");
}
