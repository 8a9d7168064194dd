//! The table of errors against the header of the real runtime.

use std::collections::BTreeMap;
use std::fs;

use pretty_assertions::assert_eq;
use pte_emit::check::RuntimeError;
use pte_emit::release::EXECUTORCH;

use crate::support::runner;

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn errors_are_those_of_the_header() {
    let folder = runner::locate().parent().expect("a folder").to_owned();
    // Wheels of other releases may be beside it.
    let header = format!("executorch-{EXECUTORCH}/executorch/include/executorch/runtime/core/error.h");
    let header = folder.join(header);
    let text = fs::read_to_string(header).expect("it is readable");
    let (_, body) = text.split_once("enum class Error").expect("the enum");
    let (body, _) = body.split_once("};").expect("its end");
    let enumerator = |line: &str| {
        let (name, number) = line.trim().strip_suffix(',')?.split_once(" = 0x")?;
        Some((u32::from_str_radix(number, 16).ok()?, name.to_owned()))
    };
    let expected: BTreeMap<u32, String> = body.lines().filter_map(enumerator).collect();
    let found: BTreeMap<u32, String> =
        RuntimeError::all().iter().map(|error| (error.code, error.name.to_owned())).collect();
    assert_eq!(found, expected);
    assert!(found.len() > 15);
}
