//! `pte-emit schema`: prints the JSON Schema of the YAML.

use super::exit::{Exit, Failure};
use super::stdout;

/// Prints the schema to standard output.
pub fn run() -> Result<Exit, Failure> {
    stdout::write("", |out| out.write_all(pte_emit::json_schema().as_bytes())).map(|()| Exit::Ok)
}

#[cfg(all(test, feature = "schema"))]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;
    use pte_emit::{
        command::{ReportDocument, explanation::Explanation, findings::FindingsDocument, operators::Listed},
        deploy::{Firmware, KernelList},
        diff::NumericComparison,
        edit::{BoundReport, ChangedOutputs, ConvertedIo, Extracted, Merged, Optimization, QuantizedIo},
        inspect::{Delegation, FileSize, Inspection},
        language::{
            CallSignature, CompletionItem, Hover, InlayHint, OutlineItem, Reference, SemanticToken, SourceAction,
            SourceMessage, TextEdit,
        },
        payload::{Payload, PayloadSummary},
        profile::TimeProfile,
        weights::{Manifest, WeightChanges, WeightList},
    };
    use schemars::generate::SchemaSettings;
    use schemars::transform::{Transform, transform_subschemas};
    use schemars::{JsonSchema, Schema, SchemaGenerator};
    use serde_json::{Value, json};

    use super::super::corpus::CorpusManifest;
    use super::super::diff::DiffDocument;
    use super::super::manifest::VerifyDocument;
    use super::super::memory::MemoryDocument;
    use super::super::run::RunDocument;
    use super::super::test::TestDocument;

    /// Makes all keys known, and descriptions plain text.
    #[derive(Clone)]
    struct Strict;

    impl Transform for Strict {
        fn transform(&mut self, schema: &mut Schema) {
            distribute(schema);
            transform_subschemas(self, schema);
            if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
                schema.insert("additionalProperties".to_owned(), false.into());
            }
            if let Some(Value::String(text)) = schema.get_mut("description") {
                let paragraph = text.split("\n\n").next().unwrap_or_default();
                *text = plain(paragraph).replace('\n', " ");
            }
        }
    }

    /// Moves the optional keys of a struct with a flattened enum to each variant, which then knows all keys.
    fn distribute(schema: &mut Schema) {
        if !schema.get("anyOf").is_some_and(Value::is_array) {
            return;
        }
        let Some(Value::Object(keys)) = schema.remove("properties") else { return };
        for variant in schema.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::Object(known)) = variant.get_mut("properties") {
                known.extend(keys.clone());
            }
        }
    }

    /// Returns a text without links of the documentation, `[text](target)` and `[text]`, and with the word of JSON for
    /// `None`.
    fn plain(text: &str) -> String {
        let mut plain = String::new();
        for (number, part) in text.replace("()", "").split("](").enumerate() {
            plain += if number > 0 { part.split_once(')').map_or(part, |(_, rest)| rest) } else { part };
        }
        plain.replace("[`", "`").replace("`]", "`").replace("`None`", "null")
    }

    /// Returns the schema of a file for documents of these types.
    fn schema(title: &str, types: &[fn(&mut SchemaGenerator) -> Schema]) -> String {
        let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(Strict);
        let mut generator = settings.into_generator();
        let any: Vec<Schema> = types.iter().map(|subschema| subschema(&mut generator)).collect();
        let definitions = generator.take_definitions(true);
        let dialect = "https://json-schema.org/draft/2020-12/schema";
        format!("{:#}\n", json!({"$schema": dialect, "title": title, "anyOf": any, "$defs": definitions}))
    }

    fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    /// The schemas of the output of `--json` are those of the types. tests/suite/schema.rs validates documents with
    /// them.
    #[test]
    fn the_schemas_of_results_are_up_to_date() {
        let files = [
            (
                "inspect",
                schema(
                    "Documents of pte-emit inspect, size and memory with --json",
                    &[of::<Inspection>, of::<Delegation>, of::<FileSize>, of::<MemoryDocument>],
                ),
            ),
            (
                "edit",
                schema(
                    "Results of edits, as the Python package has them",
                    &[
                        of::<Optimization>,
                        of::<BoundReport>,
                        of::<Merged>,
                        of::<Extracted>,
                        of::<ChangedOutputs>,
                        of::<ConvertedIo>,
                        of::<QuantizedIo>,
                    ],
                ),
            ),
            ("corpus", schema("manifest.json of pte-emit generate --corpus", &[of::<CorpusManifest<'static>>])),
            ("diff", schema("Document of pte-emit diff with --json", &[of::<DiffDocument<'static>>])),
            ("explain", schema("Document of pte-emit explain with --json", &[of::<Vec<Explanation>>])),
            ("firmware", schema("Document of pte-emit firmware with --json", &[of::<Firmware>])),
            ("kernels", schema("Document of pte-emit kernels with --json", &[of::<KernelList>])),
            (
                "language",
                schema(
                    "Answers about a text that is being written, as the bindings have them; offsets are in their units",
                    &[
                        of::<Vec<SourceMessage>>,
                        of::<Option<Hover>>,
                        of::<Vec<CompletionItem>>,
                        of::<Option<CallSignature>>,
                        of::<Vec<InlayHint>>,
                        of::<Option<std::ops::Range<usize>>>,
                        of::<Vec<Reference>>,
                        of::<Vec<TextEdit>>,
                        of::<Vec<OutlineItem>>,
                        of::<Vec<SemanticToken>>,
                        of::<Vec<SourceAction>>,
                    ],
                ),
            ),
            ("numeric", schema("Document of pte-emit diff --numeric with --json", &[of::<NumericComparison>])),
            ("profile", schema("Document of pte-emit profile with --json", &[of::<TimeProfile>])),
            ("ops", schema("Document of pte-emit ops with --json", &[of::<Vec<Listed>>])),
            (
                "payload",
                schema(
                    "Documents of pte-emit payload list and show with --json",
                    &[of::<Vec<Payload>>, of::<Vec<PayloadSummary>>],
                ),
            ),
            (
                "weights",
                schema(
                    "Documents of pte-emit weights list and set, manifest and verify with --json",
                    &[of::<WeightList>, of::<WeightChanges>, of::<Manifest>, of::<VerifyDocument>],
                ),
            ),
            ("report", schema("Data of a page of pte-emit report", &[of::<ReportDocument>])),
            ("run", schema("Document of pte-emit run with --json", &[of::<RunDocument>])),
            ("test", schema("Document of pte-emit test with --json", &[of::<TestDocument<'static>>])),
            ("check", schema("Document of pte-emit check with --json", &[of::<FindingsDocument<'static>>])),
        ];
        for (name, expected) in files {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{name}.schema.json"));
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&path, &expected).unwrap();
            }
            assert_eq!(
                std::fs::read_to_string(&path).unwrap_or_default(),
                expected,
                "`BLESS=1 cargo test -p pte-emit --lib schema` updates it"
            );
        }
    }
}
