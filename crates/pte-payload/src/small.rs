//! Payloads whose header is public, and nothing else: a row for each format, with its header as a table.
//!
//! Described only.

use serde_json::Value;

use super::coreml;
use super::description::{self, DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN};
use super::format::PayloadFormat;
use super::rows::{self, Row};
use super::signature::CallRules;
use pte_model::data::Blob;
use pte_model::format::Format;
use pte_model::format::container::HEAD;
use pte_model::format::flatbuffer::read;
use pte_model::format::program::{
    self, BACKEND_DELEGATE, EXECUTION_PLAN, IDENTIFIER, OPERATOR, PROGRAM, backend_delegate, execution_plan, operator,
};

/// A format that is a row.
pub struct Small {
    name: &'static str,
    backends: &'static [&'static str],
    /// First bytes of payloads of any backend that have the format.
    magic: &'static [&'static [u8]],
    rules: &'static CallRules,
    describe: fn(&Blob) -> Result<Facts, DescribeError>,
}

/// The payloads of the Neuropilot backend of MediaTek: a header of 13 bytes, and a compiled network.
pub static NEUROPILOT: Small = Small {
    name: "Neuropilot",
    backends: &["NeuropilotBackend"],
    magic: &[],
    rules: &CallRules::UNKNOWN,
    describe: |payload| rows::facts(NEUROPILOT_ROWS, &rows::head(payload, 13)?, 0, payload),
};

const NEUROPILOT_ROWS: &[Row] = &[
    Row::Number("version", (0, 1)),
    Row::Number("inputs", (1, 4)),
    Row::Number("outputs", (5, 4)),
    Row::PartAt("network", 13, (9, 4)),
];

/// The payloads of the TensorRT backend of Torch-TensorRT: a header, bindings (JSON), and an engine.
pub static TENSOR_RT: Small = Small {
    name: "TensorRT",
    backends: &["TensorRTBackend"],
    magic: &[b"TR01", b"TR02"],
    // It rejects fewer arguments than bindings, but a compile spec takes outputs that are inputs out of the call.
    rules: &CallRules::UNKNOWN,
    describe: tensor_rt,
};

const TENSOR_RT_ROWS: &[Row] = &[Row::Part("metadata", (4, 4), (8, 4)), Row::Part("engine", (12, 4), (16, 8))];

/// The payloads of ExecutorBackend: programs.
pub static EXECUTOR: Small = Small {
    name: "ExecuTorch program",
    backends: &["ExecutorBackend"],
    // That of programs would recognise a program that is not a payload.
    magic: &[],
    rules: &CallRules::UNKNOWN,
    describe: executor,
};

/// The payloads of BackendWithCompilerDemo: instructions as text.
pub static DEMO: Small = Small {
    name: "compiler demo",
    backends: &["BackendWithCompilerDemo"],
    magic: &[],
    rules: &CallRules::UNKNOWN,
    describe: demo,
};

impl std::fmt::Debug for Small {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PayloadFormat for Small {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backends(&self) -> &'static [&'static str] {
        self.backends
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        self.magic.iter().any(|magic| head.starts_with(magic))
    }

    fn rules(&self) -> &'static CallRules {
        self.rules
    }

    fn is_program(&self) -> bool {
        self.name == EXECUTOR.name
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        (self.describe)(payload)
    }
}

fn tensor_rt(payload: &Blob) -> Result<Facts, DescribeError> {
    let head = rows::head(payload, 32)?;
    let header = rows::facts(TENSOR_RT_ROWS, &head, 0, payload)?;
    let (at, size) = rows::part(&header, "metadata").unwrap_or_default();
    let json = coreml::json(payload, at, size)?;
    let mut facts = Facts::default();
    facts.add_target(json.get("target_platform").and_then(Value::as_str));
    facts.add("magic", &*head[..4].escape_ascii().to_string());
    facts.add("header", header);
    let bindings = json.get("io_bindings").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (name, is_input) in [("inputs", true), ("outputs", false)] {
        let of_kind = |binding: &&Value| binding.get("is_input").and_then(Value::as_bool) == Some(is_input);
        let found = bindings.iter().filter(of_kind);
        let fact = |binding: &Value| {
            let text = |key| binding.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            let mut facts = Facts::default().with("name", text("name").unwrap_or(UNKNOWN));
            if let Some(datatype) = text("dtype") {
                facts.add("datatype", datatype);
            }
            let sizes = binding.get("shape").and_then(Value::as_array).filter(|sizes| !sizes.is_empty());
            let sizes = sizes.and_then(|sizes| sizes.iter().map(Value::as_i64).collect::<Option<Vec<_>>>());
            if let Some(sizes) = sizes {
                facts.add("sizes", Fact::sizes(sizes.into_iter()));
            }
            facts.into_fact()
        };
        facts.add(name, Fact::list(found.clone().take(MAX_LISTED).map(fact), found.count()));
    }
    let aliased = json.get("aliased_io").and_then(Value::as_array).map_or(0, Vec::len);
    facts.add("aliased_outputs", aliased);
    Ok(facts)
}

/// Describes a program. Its own delegates are named and not described, so that programs in programs end.
fn executor(payload: &Blob) -> Result<Facts, DescribeError> {
    let head = payload.read_at(0, payload.len().min(HEAD) as usize)?;
    let size = Format::Program.metadata_len(&head, payload.len()).min(payload.len());
    description::flatbuffer(payload, (0, size), Some(IDENTIFIER), &PROGRAM, |t| {
        let mut facts = Facts::default().with("identifier", IDENTIFIER);
        facts.add("version", &*t.u32(program::program::version)?.to_string());
        facts.add_part("program", 0, size);
        facts.add_part("segments", size, payload.len() - size);
        let (mut methods, mut delegates, mut operators) = (Vec::new(), Tally::default(), Tally::default());
        let (mut count, mut arguments) = (0usize, None);
        t.children(program::program::execution_plan, &EXECUTION_PLAN, |t| {
            let name = t.text(execution_plan::name)?.unwrap_or_default();
            // The backend calls this method.
            if name == "forward" {
                let number = |slot| read::Result::Ok(t.i32s::<Vec<i32>>(slot)?.map_or(0, |values| values.len()));
                arguments = Some((number(execution_plan::inputs)?, number(execution_plan::outputs)?));
            }
            count += 1;
            if methods.len() < MAX_LISTED {
                methods.push((&*name).into_fact());
            }
            t.children(execution_plan::operators, &OPERATOR, |t| {
                operators.count(t.text(operator::name)?.unwrap_or_default());
                Ok(())
            })?;
            t.children(execution_plan::delegates, &BACKEND_DELEGATE, |t| {
                delegates.count(t.text(backend_delegate::id)?.unwrap_or_default());
                Ok(())
            })
            .map(drop)
        })?;
        facts.add("methods", Fact::list(methods, count));
        facts.add("kernels", operators);
        facts.add("delegates", delegates);
        if let Some((inputs, outputs)) = arguments {
            facts.add("inputs", inputs);
            facts.add("outputs", outputs);
        }
        Ok(facts)
    })
}

fn demo(payload: &Blob) -> Result<Facts, DescribeError> {
    let bytes = description::metadata(payload, 0, payload.len(), "text")?;
    let text = String::from_utf8_lossy(&bytes);
    let mut parts = text.split('#');
    let version = parts.next().and_then(|first| first.split_once("version:"));
    let Some((_, version)) = version.filter(|(count, _)| count.bytes().all(|byte| byte.is_ascii_digit())) else {
        return Err(DescribeError::malformed("no version at byte 0x0, expected `NUMBERversion:VERSION#`"));
    };
    let mut operations = Tally::default();
    for instruction in parts.filter_map(|part| part.strip_prefix("op:")) {
        let name = instruction.split(',').next().unwrap_or_default();
        operations.count(name.strip_prefix("demo::").unwrap_or(name).to_owned());
    }
    Ok(Facts::default().with("version", version).with("operations", operations))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(format: &Small, payload: &[u8]) -> Result<String, String> {
        let facts = format.describe(&Blob::bytes(payload)).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&facts.into_fact()).unwrap())
    }

    #[test]
    fn a_network_must_fit() {
        let payload = [&[1][..], &2u32.to_le_bytes(), &1u32.to_le_bytes(), &3u32.to_le_bytes(), b"net"].concat();
        let expected = r#"{"version":1,"inputs":2,"outputs":1,"network":{"offset":13,"size":3}}"#;
        assert_eq!(described(&NEUROPILOT, &payload).unwrap(), expected);
        assert_eq!(
            described(&NEUROPILOT, &payload[..15]).unwrap_err(),
            "network of 3 bytes at byte 0xd (size at byte 0x9), expected it in 15 bytes"
        );
        assert_eq!(
            described(&NEUROPILOT, &payload[..12]).unwrap_err(),
            "a payload of 12 bytes, expected a header of 13"
        );
        // More than a description lists.
        let many = [&[1][..], &u32::MAX.to_le_bytes(), &[0; 8]].concat();
        let signature = NEUROPILOT.signature(&Blob::bytes(many)).unwrap().unwrap();
        assert_eq!((signature.inputs.len(), signature.is_complete), (MAX_LISTED, false));
    }

    #[test]
    fn bindings_have_names() {
        let json = br#"{"io_bindings":[{"name":"x","dtype":"","shape":[],"is_input":true},{"name":"y","is_input":false}],"target_platform":"linux_x86_64"}"#;
        let engine = (32 + json.len()).next_multiple_of(16);
        let head =
            [&b"TR01"[..], &32u32.to_le_bytes(), &(json.len() as u32).to_le_bytes(), &(engine as u32).to_le_bytes()];
        let mut payload = [&head.concat()[..], &4u64.to_le_bytes(), &1u64.to_le_bytes(), json].concat();
        payload.resize(engine + 4, 0);
        let found = described(&TENSOR_RT, &payload).unwrap();
        assert!(found.starts_with(r#"{"target":["linux_x86_64"],"magic":"TR01""#), "{found}");
        assert!(found.ends_with(r#""inputs":[{"name":"x"}],"outputs":[{"name":"y"}],"aliased_outputs":0}"#), "{found}");
        let signature = TENSOR_RT.signature(&Blob::bytes(payload.clone())).unwrap().unwrap();
        assert_eq!((signature.inputs.len(), signature.rejects_count(1)), (1, false));
        payload.truncate(engine);
        assert!(described(&TENSOR_RT, &payload).unwrap_err().starts_with("engine of 4 bytes"));
    }

    /// Not by their first bytes: a program is not a payload.
    #[test]
    fn programs_are_payloads_of_their_backend_only() {
        let found = described(&EXECUTOR, pte_model::LINEAR_PTE).unwrap();
        assert!(found.starts_with(r#"{"identifier":"ET12","version":"0","program":{"offset":0,"#), "{found}");
        let formats = crate::Formats(&[crate::FORMATS]);
        let name = |backend| formats.recognise(backend, &pte_model::LINEAR_PTE[..16]).map(PayloadFormat::name);
        assert_eq!([name(""), name("ExecutorBackend")], [None, Some(EXECUTOR.name)]);
        assert!(described(&EXECUTOR, b"\x08\0\0\0ET12").is_err());
    }

    #[test]
    fn instructions_are_counted() {
        let expected = r#"{"version":"0","operations":{"aten.sin.default":1}}"#;
        assert_eq!(described(&DEMO, b"1version:0#op:demo::aten.sin.default, numel:1#").unwrap(), expected);
        assert!(described(&DEMO, b"x").unwrap_err().starts_with("no version at byte 0x0"));
    }
}
