//! Payloads of the Core AI backend: a manifest (JSON) of files in named data, or of a folder next to the program.
//!
//! Described only. The model is in those files, whose format is not public.

use serde_json::Value;

use super::coreml;
use super::description::{DescribeError, Fact, Facts, IntoFact, UNKNOWN};
use super::format::PayloadFormat;
use pte_model::data::Blob;

/// Largest size in bytes of a hash in hexadecimal digits.
const MAX_HASH: usize = 128;

/// The payloads of the Core AI backend.
#[derive(Debug)]
pub struct CoreAi;

impl PayloadFormat for CoreAi {
    fn name(&self) -> &'static str {
        "Core AI"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["CoreAIBackend"]
    }

    fn has_magic(&self, _head: &[u8]) -> bool {
        false
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let json = coreml::json(payload, 0, payload.len())?;
        let text = |key: &str| json.get(key).and_then(Value::as_str);
        let mut facts = Facts::default();
        let minimum = text("min_deployment_version");
        let archs = json.get("archs").and_then(Value::as_object);
        let platform = text("platform");
        if let Some(version) = minimum {
            // The portable model does not name a platform.
            let chips = archs.into_iter().flatten().map(|(name, _)| name.as_str());
            let system = format!("{} {version}", platform.unwrap_or("OS"));
            facts.add_target([&*system].into_iter().chain(chips));
        }
        // It is a part of each key, and has a fixed size.
        let hash = text("hash").filter(|hash| hash.len() <= MAX_HASH);
        for key in ["packaging", "hash", "path", "platform"] {
            if let Some(found) = text(key) {
                facts.add(key, found);
            }
        }
        facts.add("min_deployment_version", minimum.unwrap_or("none"));
        if let Some(archs) = archs {
            facts.add("archs", Fact::list(archs.keys().map(|name| name.as_str().into_fact()), archs.len()));
        }
        if let Some(files) = json.get("files").and_then(Value::as_array) {
            let key = |file: &Value| format!("coreai/{}/{}", hash.unwrap_or(UNKNOWN), file.as_str().unwrap_or(UNKNOWN));
            facts.add("named_data", Fact::list(files.iter().map(|file| Fact::Text(key(file))), files.len()));
        }
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(json: &str) -> Result<String, String> {
        let facts = CoreAi.describe(&Blob::bytes(json.as_bytes())).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&facts.into_fact()).unwrap())
    }

    #[test]
    fn a_compiled_model_has_a_platform_and_chips() {
        let json = r#"{"files": ["m"], "packaging": "aot_compiled_inline", "hash": "ab", "platform": "iOS",
            "min_deployment_version": "27.0", "archs": {"h16p": "ab/model.h16p.aimodelc"}}"#;
        let found = described(json).unwrap();
        assert!(found.starts_with(r#"{"target":["iOS 27.0","h16p"],"#), "{found}");
        assert!(found.ends_with(r#""archs":["h16p"],"named_data":["coreai/ab/m"]}"#), "{found}");
    }

    #[test]
    fn keys_are_not_longer_than_hashes() {
        let json = format!(r#"{{"files": ["m"], "hash": "{}"}}"#, "a".repeat(1 << 20));
        assert!(described(&json).unwrap().len() < 1000);
        assert!(described("[]").unwrap_err().contains("expected an object"));
    }
}
