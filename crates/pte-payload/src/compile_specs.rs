//! Compile specs: what their values mean, and for which chip, system or processor a delegate was compiled.
//!
//! A row for each key of a backend has the encoding of the value and the words of its values. What has no row, or
//! another size than its row, has no meaning.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::coreml;
use super::description::{Description, Fact, Facts, IntoFact, as_map};
use super::flat::schema::{Schema, Type};
use super::flat::value::Table;
use super::flat::view::View;
use super::flat::{self, FlatFormat};
use pte_model::data::Blob;
use pte_model::diagnostics::is_unsafe;
use pte_model::format::flatbuffer::Scalar;

/// Encoding of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// UTF-8; also JSON, which stays text.
    Text,
    /// UTF-8: options of a command, separated by blanks.
    Flags,
    /// UTF-8, whose terminating zeros the runtime ignores.
    TerminatedText,
    /// Little-endian integer of this many bytes.
    Integer(usize),
    /// Byte that is 0 or not.
    Bool,
    /// Options as a FlatBuffer.
    FlatBuffer,
    /// UTF-8, a version of Core ML's specification.
    SpecificationVersion,
    /// Only its presence counts.
    Present,
}

use Encoding::{Bool, Flags, FlatBuffer, Integer, Present, SpecificationVersion, TerminatedText, Text};

/// A key of a compile spec.
#[derive(Debug)]
struct Key {
    /// Backends; empty for all.
    backends: &'static [&'static str],
    /// Key; `*` at the end stands for any text.
    key: &'static str,
    encoding: Encoding,
    /// Words for values: of text the text, of integers the number.
    words: &'static [(&'static str, &'static str)],
}

macro_rules! keys {
    ($( $backends:tt { $( $key:literal $encoding:expr $(, $value:literal = $word:literal)* ; )* } )*) => {
        const KEYS: &[Key] = &[$($(
            Key { backends: &$backends, key: $key, encoding: $encoding, words: &[$(($value, $word)),*] },
        )*)*];
    };
}
keys! {
    [] { "target_device" Text; }
    ["EthosUBackend", "VgfBackend", "TOSABackend", "ArmBackend"] {
        "tosa_spec" Text;
        "compile_flags" Flags;
        "output_format" Text;
        "debug_artifact_path" Text;
        "dump_debug_info" Text;
        "transform_pipeline_config" Text;
        "preserve_io_quantization" Text;
        "tosa_sw_dev_mode" Text;
        "ouput_reorder_workaround" Text;
        "input_order" Text;
        "target" Text;
        "external_block_placements" Text;
        "ethosu.device" Text;
        "ethosu.timeout_ns" Integer(8);
        "ethosu.enable_cycle_counter" Bool;
        "ethosu.pmu_event*" Integer(4);
    }
    ["CoreMLBackend"] {
        "compute_units" Text, "all" = "CPU, GPU and Neural Engine", "cpu_only" = "CPU", "cpu_and_gpu" = "CPU and GPU",
            "cpu_and_ne" = "CPU and Neural Engine";
        "min_deployment_target" SpecificationVersion, "" = "that of the converter";
        "model_compute_precision" Text;
        "model_type" Text;
        "op_linear_quantizer_config" Text;
        "pass_pipeline" Text;
        "enumerated_shapes" Text;
        "multimethod_weight_sharing_strategy" Text;
    }
    ["QnnBackend"] { "qnn_compile_spec" FlatBuffer; }
    ["EnnBackend"] { "enn_compile_options" FlatBuffer; }
    ["VulkanBackend"] {
        "storage_type_override" Integer(4), "0" = "BUFFER", "1" = "TEXTURE_3D", "2" = "TEXTURE_2D",
            "255" = "DEFAULT_STORAGE";
        "memory_layout_override" Integer(4), "0" = "TENSOR_WIDTH_PACKED", "1" = "TENSOR_HEIGHT_PACKED",
            "2" = "TENSOR_CHANNELS_PACKED", "3" = "PACKED_INT8_4W4C", "4" = "PACKED_INT8_4H4W", "5" = "PACKED_INT8_4W",
            "6" = "PACKED_INT8_4C", "8" = "PACKED_INT8_4C1W", "9" = "PACKED_INT8_CONV2D", "255" = "DEFAULT_LAYOUT";
        "require_dynamic_shapes" Bool;
        "warmup_execute_after_compile" Bool;
        "texture_limits_*" Integer(4);
        "small_texture_limits" Bool;
        "skip_tag_memory_metadata" Bool;
        "skip_memory_planning" Bool;
        "downcast_64_bit" Bool;
        "force_fp16" Bool;
        "alias_buffer_mutations" Bool;
        "external_constants_max_data_bytes" Integer(8);
        "webgpu_record_q4gsw_decode_route" Integer(1);
    }
    ["XnnpackBackend"] { "dqlinear_partitioner" Present; }
    ["NeuropilotBackend"] { "ImportForever" Bool; "HighAddr" Bool; "*" Text; }
    ["NeutronBackend"] { "*" Text; }
    ["OpenvinoBackend"] { "device" TerminatedText; "*" Text; }
    ["CudaBackend", "MetalBackend"] { "*" Text; }
    ["MPSBackend"] { "use_fp16" Bool; }
    ["NativeBackend"] { "external_constants_tag" Text; "serialize_as_ptn" Text; }
    ["CoreAIBackend"] { "coreai_uses_sidecar" Present; "*" Text; }
    ["TensorRTBackend"] { "weight_streaming_budget" Text; "zero_copy_kv" Text; }
    ["BackendWithCompilerDemo"] { "max_value" Integer(1); }
    ["ExecutorBackend"] { "external_constants" Present; }
}

/// What a delegate was compiled for, and with which options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Compiled {
    /// Chip, system and processor, such as `Ethos-U55-128`; empty if neither payload nor compile specs say it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub compiled_for: Vec<TargetPart>,
    /// Compile specs by key: what their values mean, otherwise their text or first bytes; a list of those of a key that
    /// occurs several times.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, serde_json::Value>"))]
    pub compile_specs: Vec<(Cow<'static, str>, Fact)>,
}

impl Compiled {
    /// Collects what a payload and the compile specs of a delegate say.
    pub fn new(payload: Option<&Description>, specs: &[(String, Vec<u8>)], backend: &str) -> Compiled {
        let mut positions = HashMap::new();
        let mut values: Vec<(&String, Vec<Fact>)> = Vec::new();
        for (key, value) in specs {
            let position = *positions.entry(key).or_insert_with(|| {
                values.push((key, Vec::new()));
                values.len() - 1
            });
            values[position].1.push(fact(backend, key, value));
        }
        let one = |(key, values): (&String, Vec<Fact>)| {
            let value = <[Fact; 1]>::try_from(values).map_or_else(Fact::List, |[value]| value);
            (Cow::Owned(key.clone()), value)
        };
        let compile_specs = values.into_iter().map(one).collect();
        Compiled { compiled_for: target(payload, specs, backend), compile_specs }
    }
}

/// Number of bytes of a value without a meaning that are facts.
const MAX_BYTES: usize = 64;

/// Returns the meaning of a value; otherwise its text, or its first bytes.
fn fact(backend: &str, key: &str, value: &[u8]) -> Fact {
    meaning(backend, key, value).unwrap_or_else(|| match std::str::from_utf8(value) {
        Ok(text) if !text.chars().any(is_unsafe) => text.into_fact(),
        Ok(_) | Err(_) => {
            let digits = data_encoding::HEXLOWER.encode(&value[..value.len().min(MAX_BYTES)]);
            let more = if value.len() > MAX_BYTES { "..." } else { "" };
            Facts::default().with("hex", &*format!("{digits}{more}")).into_fact()
        }
    })
}

/// Returns the meaning of a value; `None` if it is not known.
pub fn meaning(backend: &str, key: &str, value: &[u8]) -> Option<Fact> {
    let is_key = |known: &str| match known.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == known,
    };
    let row =
        KEYS.iter().find(|row| (row.backends.is_empty() || row.backends.contains(&backend)) && is_key(row.key))?;
    let word = |value: &str| row.words.iter().find(|(known, _)| *known == value).map(|(_, word)| *word);
    let text = |value: &[u8]| std::str::from_utf8(value).ok().map(|text| word(text).unwrap_or(text).into_fact());
    match row.encoding {
        Text => text(value),
        Flags => {
            let flags = std::str::from_utf8(value).ok()?.split_ascii_whitespace();
            let flag = |flag: &str| match flag.split_once('=') {
                Some((name, value)) => (name.to_owned().into(), value.into_fact()),
                None => (flag.to_owned().into(), self::flag(true)),
            };
            Some(Fact::Map(flags.map(flag).collect()))
        }
        SpecificationVersion => {
            let systems = specification_version(value).and_then(coreml::systems);
            systems.map(|systems| (&*systems.join(", ")).into_fact()).or_else(|| text(value))
        }
        TerminatedText => {
            let end = value.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            text(&value[..end])
        }
        Integer(size) => {
            let number = super::rows::number(value, (0, size)).filter(|_| value.len() == size)?;
            let word = word(&number.to_string()).map(IntoFact::into_fact);
            Some(word.unwrap_or_else(|| Fact::Number(i64::try_from(number).unwrap_or(i64::MAX))))
        }
        Bool => match value {
            [first, ..] => Some(flag(*first != 0)),
            [] => None,
        },
        FlatBuffer => options(value).map(|(schema, root)| fields(&View::new(&schema, &root)).into_fact()),
        Present => Some(flag(true)),
    }
}

/// Fields of the options of QNN that all releases have. The others moved, and no number tells the releases apart.
const SHARED: &[&str] = &["soc_info", "backend_options"];

/// Table whose field in this slot was a text up to release 1.0: the fields before it did not move.
const MOVED: (&str, u16) = ("QnnExecuTorchHtpBackendOptions", 4);

/// Options with their schema.
type Options = (Arc<Schema>, Table);

/// Reads options. Those of QNN of release 1.0 and before are read as far as all releases have them.
fn options(value: &[u8]) -> Option<Options> {
    let blob = Blob::bytes(value);
    let read = |format: &FlatFormat| Some((format.schema(), format.read(&blob).ok()?.root));
    if let Some((schema, root)) = flat::options(value).and_then(read) {
        let view = View::new(&schema, &root);
        // Since release 1.1, this text is always written. Before, the level of the log was the offset of a text.
        let is_new = view.text("saver_output_dir").is_some() && (0..=5).contains(&view.number("log_level"));
        if is_new || schema.identifier.is_some() {
            return Some((schema, root));
        }
    }
    let mut schema = (*flat::QNN_OPTIONS_FORMAT.schema()).clone();
    let root = schema.root;
    schema.objects[root].fields.retain(|field| SHARED.contains(&field.name.as_str()));
    let moved = schema.objects.iter_mut().find(|object| object.name == MOVED.0)?;
    moved.fields.retain(|field| field.at < MOVED.1);
    let table = flat::read_part(&schema, &blob, (0, blob.len())).ok()?;
    // Every writer has stored both.
    (table.get(0).is_some() && table.get(1).is_some()).then(|| (Arc::new(schema), table))
}

/// Returns the fields that are present, with names of enums; those that the schema does not have are left out.
fn fields(view: &View<'_>) -> Facts {
    let mut facts = Vec::new();
    for (name, field) in view.fields() {
        let fact = match field.ty {
            Type::Number(Scalar::Bool, None) => Some(flag(view.number(name) != 0)),
            Type::Number(_, None) => Some(Fact::Number(view.number(name))),
            Type::Number(_, Some(_)) => Some((&*view.word(name)).into_fact()),
            Type::Text => view.text(name).map(IntoFact::into_fact),
            Type::Object(_) => view.child(name).map(|child| fields(&child).into_fact()),
            Type::Objects(_) => {
                let children = view.children(name);
                Some(Fact::list(children.clone().map(|child| fields(&child).into_fact()), children.len()))
            }
            Type::Union(_) | Type::Numbers(..) | Type::Texts | Type::Array(..) => None,
        };
        facts.extend(fact.map(|fact| (name.to_owned().into(), fact)));
    }
    Facts::from(facts)
}

fn flag(is_set: bool) -> Fact {
    if is_set { "true" } else { "false" }.into_fact()
}

/// A part of what a delegate was compiled for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetPart {
    /// Name of the chip on which alone it runs, such as `SM8650`.
    Chip(String),
    /// Oldest system on which it runs.
    System(System),
    /// Another one, such as a processor or the release of an SDK.
    Other(String),
}

impl TargetPart {
    /// A system, if the text is that of one.
    fn system(text: impl Into<String>) -> TargetPart {
        let text = text.into();
        text.parse().map_or_else(|()| TargetPart::Other(text), TargetPart::System)
    }
}

impl fmt::Display for TargetPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetPart::Chip(text) | TargetPart::Other(text) => f.write_str(text),
            TargetPart::System(system) => f.write_str(&system.text),
        }
    }
}

impl Serialize for TargetPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A system and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// Name, one of [`SYSTEMS`].
    pub name: &'static str,
    /// Major and minor version.
    pub version: (u32, u32),
    /// Name and version as they were found.
    pub text: String,
}

/// Name of a system that stands for each one with the version: those of Apple have common versions since 26.
pub const ANY_SYSTEM: &str = "OS";

/// Systems that payloads are compiled for.
pub const SYSTEMS: &[&str] = &["iOS", "macOS", "tvOS", "watchOS", "visionOS", ANY_SYSTEM];

impl FromStr for System {
    type Err = ();

    /// Parses a name and a version, such as `iOS 17.4`.
    fn from_str(text: &str) -> Result<System, ()> {
        let (name, version) = text.split_once(' ').ok_or(())?;
        let mut numbers = version.splitn(3, '.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or("0"));
        let name = SYSTEMS.iter().find(|known| known.eq_ignore_ascii_case(name)).ok_or(())?;
        let number = |digits: &str| digits.parse().map_err(drop);
        Ok(System { name, version: (number(major)?, number(minor)?), text: text.to_owned() })
    }
}

/// Returns what a delegate was compiled for, such as `SM8650` and `HTP v75`, from its payload and from its compile
/// specs; empty if neither says it.
pub fn target(payload: Option<&Description>, specs: &[(String, Vec<u8>)], backend: &str) -> Vec<TargetPart> {
    use TargetPart::{Chip, Other};
    let stated = payload.map(Description::target).unwrap_or_default();
    let value = |key: &str| specs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_slice());
    let text = |key: &str| match meaning(backend, key, value(key)?)? {
        Fact::Text(text) => Some(text).filter(|text| !text.is_empty()),
        Fact::Number(_) | Fact::Bytes(_) | Fact::List(_) | Fact::Map(_) => None,
    };
    // What the payload states, otherwise what the exporter was asked for.
    let or = |part: fn(String) -> TargetPart, asked: &dyn Fn() -> Option<String>| match &stated[..] {
        [] => asked().map(part).into_iter().collect(),
        _ => stated.iter().cloned().map(part).collect::<Vec<_>>(),
    };
    let one = |part: fn(String) -> TargetPart, text: Option<String>| text.map(part).into_iter().collect();
    match backend {
        "EthosUBackend" | "ArmBackend" => {
            or(Chip, &|| Some(chip(&text("target").or_else(|| accelerator(value("compile_flags")?))?)))
        }
        "VgfBackend" | "TOSABackend" => one(Other, text("tosa_spec")),
        "CoreMLBackend" => {
            let mut parts = or(TargetPart::system, &|| None);
            if parts.is_empty() {
                let version = value("min_deployment_target").and_then(specification_version);
                parts.extend(version.and_then(coreml::systems).into_iter().flatten().map(TargetPart::system));
            }
            parts.extend(text("compute_units").map(Other));
            parts
        }
        "QnnBackend" => {
            let mut parts = value("qnn_compile_spec").map(qnn).unwrap_or_default();
            for stated in stated {
                let part = (if stated.starts_with(super::qnn::SDK) { Other } else { Chip })(stated);
                // The payload repeats the chip.
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
            parts
        }
        "EnnBackend" => one(Chip, value("enn_compile_options").and_then(enn)),
        "NeuropilotBackend" => one(Chip, text("platform-config").map(|name| name.to_ascii_uppercase())),
        "NeutronBackend" => one(Chip, text("target")),
        "OpenvinoBackend" => match text("device") {
            Some(device) => vec![Other(device)],
            None => or(Other, &|| None),
        },
        "CoreAIBackend" => or(TargetPart::system, &|| text("coreai_min_deployment_version")),
        "CudaBackend" | "MetalBackend" => {
            ["target_device", "platform"].into_iter().filter_map(text).map(Other).collect()
        }
        _ => or(Other, &|| None),
    }
}

/// Returns the version of Core ML's specification.
fn specification_version(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Returns the accelerator among the flags of Vela.
fn accelerator(flags: &[u8]) -> Option<String> {
    let flags = std::str::from_utf8(flags).ok()?.split_ascii_whitespace();
    flags.filter_map(|flag| flag.strip_prefix("--accelerator-config=")).next_back().map(str::to_owned)
}

/// Returns the name of a chip of Arm as the driver's headers have it: `ethos-u55-128` is `Ethos-U55-128`.
fn chip(name: &str) -> String {
    name.replacen("ethos-u", "Ethos-U", 1)
}

/// Returns chip, processor and its architecture of options of QNN.
fn qnn(value: &[u8]) -> Vec<TargetPart> {
    let Some((schema, root)) = options(value) else { return Vec::new() };
    let view = View::new(&schema, &root);
    let Some(soc) = view.child("soc_info") else { return Vec::new() };
    let architecture = |info: &str, field: &str| {
        let version = soc.child(info).map(|info| info.word(field).to_lowercase());
        version.filter(|version| version.starts_with('v'))
    };
    let backend = view.child("backend_options").map(|options| options.word("backend_type"));
    let processor = match backend.as_deref() {
        Some("kHtpBackend") => Some(("HTP", architecture("htp_info", "htp_arch"))),
        Some("kGpuBackend") => Some(("GPU", None)),
        Some("kDspBackend") => Some(("DSP", None)),
        Some("kLpaiBackend") => Some(("LPAI", architecture("lpai_info", "lpai_hardware_version"))),
        Some(_) | None => None,
    };
    let chip = (soc.number("soc_model") != 0).then(|| TargetPart::Chip(soc.word("soc_model").into_owned()));
    let processor = processor.map(|(name, version)| match version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    });
    chip.into_iter().chain(processor.map(TargetPart::Other)).collect()
}

/// Returns the chip of options of Samsung.
fn enn(value: &[u8]) -> Option<String> {
    let (schema, root) = options(value)?;
    let view = View::new(&schema, &root);
    Some(view.word("chipset").into_owned()).filter(|_| view.number("chipset") != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(backend: &str, key: &str, value: &[u8]) -> Option<String> {
        Some(serde_json::to_string(&super::meaning(backend, key, value)?).unwrap())
    }

    fn target(backend: &str, specs: &[(&str, &[u8])]) -> String {
        let specs: Vec<_> = specs.iter().map(|(key, value)| ((*key).to_owned(), value.to_vec())).collect();
        let parts = super::target(None, &specs, backend);
        parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn values_are_in_the_encoding_of_their_key() {
        for (backend, key, value, expected) in [
            ("CoreMLBackend", "compute_units", &b"cpu_and_ne"[..], r#""CPU and Neural Engine""#),
            ("CoreMLBackend", "min_deployment_target", b"8", r#""iOS 17, macOS 14""#),
            ("CoreMLBackend", "min_deployment_target", b"", r#""that of the converter""#),
            ("CoreMLBackend", "pass_pipeline", b"[]", r#""[]""#),
            ("VulkanBackend", "storage_type_override", &[1, 0, 0, 0], r#""TEXTURE_3D""#),
            ("VulkanBackend", "texture_limits_x", &[0, 8, 0, 0], "2048"),
            ("VulkanBackend", "force_fp16", &[1], r#""true""#),
            ("MPSBackend", "use_fp16", &[0], r#""false""#),
            ("EthosUBackend", "compile_flags", b"--verbose --a=b", r#"{"--verbose":"true","--a":"b"}"#),
            ("OpenvinoBackend", "device", b"CPU\0\0", r#""CPU""#),
            ("NeuropilotBackend", "gno-exp", b"", r#""""#),
            ("XnnpackBackend", "target_device", b"cpu", r#""cpu""#),
            ("EthosUBackend", "ethosu.pmu_event3", &[7, 0, 0, 0], "7"),
        ] {
            assert_eq!(meaning(backend, key, value).as_deref(), Some(expected), "{backend} {key}");
        }
        for (backend, key, value) in [
            ("VulkanBackend", "storage_type_override", &[1][..]),
            ("VulkanBackend", "force_fp16", &[]),
            ("CoreMLBackend", "compute_units", &[0xff]),
            ("CoreMLBackend", "other", b""),
            ("OtherBackend", "compute_units", b"all"),
            ("QnnBackend", "qnn_compile_spec", &[0; 64]),
            ("EnnBackend", "enn_compile_options", b""),
        ] {
            assert_eq!(meaning(backend, key, value), None, "{backend} {key}");
        }
    }

    #[test]
    fn targets_are_one_line() {
        let flags: &[u8] = b"--verbose --accelerator-config=ethos-u85-256 --output-format=raw";
        for (backend, specs, expected) in [
            ("EthosUBackend", &[("compile_flags", flags)][..], Some("Ethos-U85-256")),
            ("EthosUBackend", &[("target", b"ethos-u55-128")], Some("Ethos-U55-128")),
            (
                "CoreMLBackend",
                &[("min_deployment_target", b"8"), ("compute_units", b"cpu_and_ne")],
                Some("iOS 17, macOS 14, CPU and Neural Engine"),
            ),
            ("CoreMLBackend", &[("min_deployment_target", b"")], None),
            ("VgfBackend", &[("tosa_spec", b"TOSA-1.0+FP")], Some("TOSA-1.0+FP")),
            ("NeuropilotBackend", &[("platform-config", b"mt6989")], Some("MT6989")),
            ("NeutronBackend", &[("target", b"imxrt700")], Some("imxrt700")),
            ("XnnpackBackend", &[], None),
        ] {
            assert_eq!(target(backend, specs), expected.unwrap_or_default(), "{backend}");
        }
        let systems = ["iOS 17.4", "macOS 14", "HTP v75", "HTP 75", "iOS x"]
            .map(|text| Some(text.parse::<System>().ok()?.version));
        assert_eq!(systems, [Some((17, 4)), Some((14, 0)), None, None, None]);
    }

    #[test]
    fn keys_that_occur_several_times_have_lists() {
        let specs: Vec<(String, Vec<u8>)> =
            [("a", "1"), ("b", "2"), ("a", "3")].map(|(key, value)| (key.to_owned(), value.into())).into();
        let compiled = serde_json::to_string(&Compiled::new(None, &specs, "OtherBackend")).unwrap();
        assert_eq!(compiled, r#"{"compile_specs":{"a":["1","3"],"b":"2"}}"#);
    }

    /// What the payload states precedes what the exporter was asked for.
    #[test]
    fn payloads_precede_specs() {
        let described = |format, parts: [&str; 2]| {
            let mut facts = Facts::default();
            facts.add_target(parts);
            Description::new(format, 0, facts)
        };
        let payload = described("QNN", ["SM8650", "QNN 2.37.0"]);
        let found = super::target(Some(&payload), &[], "QnnBackend");
        assert_eq!(found, [TargetPart::Chip("SM8650".to_owned()), TargetPart::Other("QNN 2.37.0".to_owned())]);
        let payload = described("Core ML", ["iOS 18", "macOS 15"]);
        let specs =
            [("min_deployment_target".to_owned(), b"7".to_vec()), ("compute_units".to_owned(), b"all".to_vec())];
        let found = super::target(Some(&payload), &specs, "CoreMLBackend");
        assert_eq!(found, ["iOS 18", "macOS 15", "CPU, GPU and Neural Engine"].map(TargetPart::system));
    }
}
