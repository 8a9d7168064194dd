//! The `.safetensors` files of weights.

use super::resolve::assembled;
use crate::emitter::safetensors::*;

/// The header of the `.safetensors` of YAML, without its padding, or the error.
fn emitted(yaml: &str) -> Result<String, String> {
    let emitted = emit(&assembled(yaml).program).map_err(|error| error.to_string())?;
    assert!(emitted.header.len().is_multiple_of(8));
    Ok(String::from_utf8(emitted.header).unwrap().trim_end().to_owned())
}

const TENSORS: &str = "  b: {tensor: uint8, data: [1, 2]}\n  a: {tensor: float32, data: 0}\n";

#[test]
fn the_header_has_the_order_of_the_keys() {
    let b = r#""b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
    let a = r#""a":{"dtype":"F32","shape":[],"data_offsets":[2,6]}"#;
    assert_eq!(emitted(&format!("named_data:\n{TENSORS}")).unwrap(), format!("{{{b},{a}}}"));
    let metadata = "  __metadata__: {text: '{\"z\": \"1\", \"y\": \"\"}'}\n";
    let json = r#""__metadata__":{"z":"1","y":""}"#;
    assert_eq!(emitted(&format!("named_data:\n{metadata}{TENSORS}")).unwrap(), format!("{{{json},{b},{a}}}"));
    assert_eq!(emitted(&format!("named_data:\n{TENSORS}{metadata}")).unwrap(), format!("{{{b},{a},{json}}}"));
    let order = "  __header__.b: {text: '[\"a\", \"__metadata__\", \"b\"]'}\n";
    assert_eq!(emitted(&format!("named_data:\n{order}{metadata}{TENSORS}")).unwrap(), format!("{{{a},{json},{b}}}"));
}

#[test]
fn an_order_may_have_other_names_than_the_file() {
    let b = r#""b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
    let a = r#""a":{"dtype":"F32","shape":[],"data_offsets":[2,6]}"#;
    for (order, expected) in [
        (r#"["x", "a", "__metadata__"]"#, [a, b]),
        (r#"["a", "a", "b", "a"]"#, [a, b]),
        (r#"["b"]"#, [b, a]),
        ("[]", [b, a]),
    ] {
        let yaml = format!("named_data:\n{TENSORS}  __header__.z: {{text: '{order}'}}\n");
        assert_eq!(emitted(&yaml).unwrap(), format!("{{{}}}", expected.join(",")), "{order}");
    }
}

#[test]
fn metadata_of_several_files_are_merged() {
    let metadata = |key: &str, json: &str| format!("  __metadata__.{key}: {{text: '{json}'}}\n");
    let (a, b) = (metadata("a", r#"{"format":"pt"}"#), metadata("b", r#"{"x":"1","format":"pt"}"#));
    assert_eq!(emitted(&format!("named_data:\n{a}{b}")).unwrap(), r#"{"__metadata__":{"format":"pt","x":"1"}}"#);
    let c = metadata("c", r#"{"format":"tf"}"#);
    let error = emitted(&format!("named_data:\n{a}{c}")).unwrap_err();
    assert!(error.contains("`__metadata__.c` has another `format`"), "{error}");
}

#[test]
fn blobs_that_the_reader_does_not_write_are_errors() {
    for (blob, message) in [
        ("__metadata__: {text: '{\"a\": 1}'}", "`__metadata__` is not JSON of an object of strings"),
        ("__metadata__.x: {fill: 0, size: 100000001}", "`__metadata__.x` has 100000001 bytes"),
        ("__metadata__: {tensor: uint8, data: [1]}", "`__metadata__` is a duplicate or reserved key"),
        ("__header__: {text: '{}'}", "`__header__` is not JSON of a list of strings"),
        ("__metadata: {text: '{}'}", "`__metadata` is not a tensor"),
    ] {
        let error = emitted(&format!("named_data:\n{TENSORS}  {blob}\n")).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}
