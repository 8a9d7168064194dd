//! Descriptions of payloads that the writers of other backends wrote (tests/payloads/README.md), of all truncations of them, and of changed
//! bytes.

use pte_emit::data::Blob;
use pte_emit::delegate::{self, FORMATS};
use pte_emit::{Options, PrintOptions, Source, assemble, payloads};

mod support;

use support::root;

/// Files of tests/payloads with the names of their formats.
const PAYLOADS: &[(&str, &str)] = &[
    ("coreml", "Core ML"),
    ("ethos_u", "Ethos-U"),
    ("mlx", "MLX"),
    ("mps", "MPS"),
    ("tosa", "TOSA"),
    ("vulkan", "Vulkan"),
];

/// First backend of a format.
fn backend(format: &str) -> &'static str {
    FORMATS.iter().find(|known| known.name() == format).expect("a format").backends()[0]
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("tests/payloads/{name}.bin"))).unwrap()
}

#[test]
fn payloads_of_other_writers_are_described() {
    for (name, format) in PAYLOADS {
        let yaml = format!(
            "methods: {{forward: {{delegates: {{d: {{backend: {}, data: {{file: tests/payloads/{name}.bin}}}}}}}}}}",
            backend(format)
        );
        let source = Source::yaml(*name, yaml, root());
        // From the YAML, and from the file that it assembles to.
        let assembled = assemble(&source, &Options::default()).unwrap().program_file().unwrap().to_vec().unwrap();
        let from_yaml = payloads(&source).unwrap();
        let from_file = payloads(&Source::binary("m.pte", &assembled)).unwrap();
        assert_eq!((from_yaml[0].path(), from_file[0].path()), ("forward/d".into(), "forward/part0".into()));
        let description = from_yaml[0].describe().unwrap();
        assert_eq!(description, from_file[0].describe().unwrap());
        assert_eq!((description.format, &description.problem), (Some(*format), &None), "{name}");
        let found = from_yaml[0].yaml("", &PrintOptions::default()).unwrap();
        let path = root().join(format!("tests/payloads/{name}.yaml"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        assert_eq!(found, std::fs::read_to_string(&path).unwrap_or_default(), "{name}");
    }
}

/// A payload that is cut has a problem, or is described: never a panic, never an I/O error. Cut in front of the constants, it has a problem.
#[test]
fn truncated_payloads_are_described() {
    for (name, format) in PAYLOADS {
        let all = bytes(name);
        for len in 0..all.len() {
            let description = delegate::describe(backend(format), &Blob::bytes(&all[..len])).unwrap();
            assert!(description.problem.is_some() || len > all.len() / 4, "{name} cut at {len}");
        }
    }
}

/// Single bytes and words are changed.
#[test]
fn changed_payloads_are_described() {
    for (name, format) in PAYLOADS {
        let all = bytes(name);
        for at in 0..all.len().min(4096) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = all.clone();
                changed[at] = value;
                delegate::describe(backend(format), &Blob::bytes(changed)).unwrap();
            }
        }
        for at in (0..all.len().saturating_sub(4).min(4096)).step_by(4) {
            for word in [0u32, 0x7fff_ffff, u32::MAX, all.len() as u32] {
                let mut changed = all.clone();
                changed[at..at + 4].copy_from_slice(&word.to_le_bytes());
                delegate::describe(backend(format), &Blob::bytes(changed)).unwrap();
            }
        }
    }
}
