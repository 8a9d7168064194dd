//! Facts of the `.safetensors` format: element types, limits, `__metadata__`, and the keys under which a `.ptd` stores
//! content other than tensors.

use std::fmt;

use safetensors::Dtype;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Extension of the files.
pub const EXTENSION: &str = "safetensors";

/// Maximum header size in bytes, by the specification of safetensors.
pub const MAX_HEADER: u64 = 100_000_000;

/// Bytes before the header: its length.
pub const PREAMBLE: u64 = 8;

/// Name of the metadata of the file in a header. In a `.ptd`, a blob with this key, or with this key, a dot and any
/// suffix, has the same JSON.
pub const METADATA: &str = "__metadata__";

/// Key of the blob of a `.ptd` that lists the names of a header in their order, if that is not the order of the data.
/// It may have a suffix like [`METADATA`].
pub const HEADER_ORDER: &str = "__header__";

/// Returns true for the key of a blob of a kind, [`METADATA`] or [`HEADER_ORDER`].
pub fn is_key_of(kind: &str, key: &str) -> bool {
    key.strip_prefix(kind).is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('.'))
}

/// Returns the key of a blob of a kind for a file with tensors of these names: the kind, a dot, and the first name for
/// which the key is free. Without the suffix, the runtime would reject two merged `.ptd` files with metadata (rule
/// N-32).
pub fn key_of<'n>(kind: &str, names: impl IntoIterator<Item = &'n str>, is_taken: impl Fn(&str) -> bool) -> String {
    let keys = names.into_iter().map(|name| format!("{kind}.{name}"));
    keys.into_iter().find(|key| !is_taken(key)).unwrap_or_else(|| kind.to_owned())
}

/// Content of `__metadata__`: strings by name, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafetensorsMetadata(pub Vec<(String, String)>);

impl SafetensorsMetadata {
    /// Adds the strings of `other`. Strings with the same name as one of these are not added; they are returned if they
    /// differ.
    pub fn merge(&mut self, other: &SafetensorsMetadata) -> Vec<(String, String)> {
        let known: std::collections::HashMap<String, String> = self.0.iter().cloned().collect();
        let mut conflicts = Vec::new();
        for (name, value) in &other.0 {
            match known.get(name) {
                None => self.0.push((name.clone(), value.clone())),
                Some(first) if first == value => {}
                Some(_) => conflicts.push((name.clone(), value.clone())),
            }
        }
        conflicts
    }
}

impl Serialize for SafetensorsMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for SafetensorsMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SafetensorsMetadata, D::Error> {
        unique_strings(deserializer, METADATA).map(SafetensorsMetadata)
    }
}

/// Reads an object of strings, in the order of the file. `field` is its name in messages.
///
/// # Errors
/// The value is not an object of strings, or a name is duplicate.
pub fn unique_strings<'de, D: Deserializer<'de>>(
    deserializer: D,
    field: &'static str,
) -> Result<Vec<(String, String)>, D::Error> {
    struct Strings(&'static str);
    impl<'de> Visitor<'de> for Strings {
        type Value = Vec<(String, String)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object of strings")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let (mut strings, mut names) = (Vec::new(), std::collections::HashSet::new());
            while let Some(name) = map.next_key::<String>()? {
                if !names.insert(name.clone()) {
                    return Err(duplicate_key(&format!("{}.{name}", self.0)));
                }
                strings.push((name, map.next_value()?));
            }
            Ok(strings)
        }
    }
    deserializer.deserialize_map(Strings(field))
}

/// Creates an error about a duplicate name in a header.
pub fn duplicate_key<E: Error>(name: &str) -> E {
    E::custom(format_args!("duplicate key `{name}`"))
}

/// Element types that exist in both formats.
pub const TYPES: &[(Dtype, &str)] = &[
    (Dtype::BOOL, "bool"),
    (Dtype::U8, "uint8"),
    (Dtype::I8, "int8"),
    (Dtype::I16, "int16"),
    (Dtype::U16, "uint16"),
    (Dtype::F16, "float16"),
    (Dtype::BF16, "bfloat16"),
    (Dtype::I32, "int32"),
    (Dtype::U32, "uint32"),
    (Dtype::F32, "float32"),
    (Dtype::F64, "float64"),
    (Dtype::I64, "int64"),
    (Dtype::U64, "uint64"),
    (Dtype::C64, "complex64"),
    (Dtype::F8_E5M2, "float8_e5m2"),
    (Dtype::F8_E4M3, "float8_e4m3fn"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_keep_their_order_and_duplicates_are_errors() {
        let json = r#"{"z":"\u00e9","a":"\"\n"}"#;
        let metadata: SafetensorsMetadata = serde_json::from_str(json).unwrap();
        assert_eq!(metadata.0, [("z".into(), "\u{e9}".into()), ("a".into(), "\"\n".into())]);
        assert_eq!(serde_json::to_string(&metadata).unwrap(), "{\"z\":\"\u{e9}\",\"a\":\"\\\"\\n\"}");
        let error = |json| serde_json::from_str::<SafetensorsMetadata>(json).unwrap_err().to_string();
        assert!(error(r#"{"a":"1","a":"1"}"#).starts_with("duplicate key `__metadata__.a`"));
        assert!(error(r#"{"a":1}"#).contains("expected a string"));
        assert!(error("[]").contains("expected an object of strings"));
    }

    #[test]
    fn equal_strings_are_merged_and_others_returned() {
        let of = |pairs: &[(&str, &str)]| {
            SafetensorsMetadata(pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect())
        };
        let mut metadata = of(&[("format", "pt"), ("a", "1")]);
        assert_eq!(metadata.merge(&of(&[("b", "2"), ("format", "pt")])), []);
        assert_eq!(metadata.merge(&of(&[("a", "3")])), [("a".into(), "3".into())]);
        assert_eq!(metadata, of(&[("format", "pt"), ("a", "1"), ("b", "2")]));
    }

    #[test]
    fn keys_of_blobs_end_with_the_name_of_a_tensor() {
        let key = |names: &[&str]| key_of(METADATA, names.iter().copied(), |key| names.contains(&key));
        assert_eq!(key(&[]), "__metadata__");
        assert_eq!(key(&["l.w", "l.b"]), "__metadata__.l.w");
        assert_eq!(key(&["a", "__metadata__.a"]), "__metadata__.__metadata__.a");
        assert!(is_key_of(METADATA, "__metadata__") && is_key_of(METADATA, "__metadata__.l.w"));
        assert!(!is_key_of(METADATA, "__metadata__s") && !is_key_of(METADATA, "l.__metadata__"));
    }
}
