//! Differences as JSON. docs/diff.md describes the schema.

use serde_json::{Map, Value, json};

use super::difference::{DataStatistics, DiffArea, DiffTotals, Difference, Differences, DifferingPart};

/// Version of the schema: it grows when a field is removed or changes its meaning.
const VERSION: u32 = 1;

impl Differences {
    /// Returns all differences as a JSON document, which docs/diff.md describes.
    pub fn to_json(&self) -> String {
        format!("{:#}\n", self.json())
    }

    /// Returns the JSON document as a value.
    pub(crate) fn json(&self) -> Value {
        let areas: Map<String, Value> =
            self.areas.iter().map(|area| (area.name().to_owned(), self.of(*area).count().into())).collect();
        let all: Vec<DiffArea> = self.areas.clone();
        json!({
            "version": VERSION,
            "equal": self.is_empty(),
            "compared": all.iter().map(|area| area.name()).collect::<Vec<_>>(),
            "counts": areas,
            "left": totals(&self.left),
            "right": totals(&self.right),
            "differences": self.list.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

fn totals(totals: &DiffTotals) -> Value {
    let mut object: Map<String, Value> =
        totals.rows().map(|(name, number)| (name.replace(' ', "_"), number.into())).collect();
    object.insert("operator_names".to_owned(), totals.operator_names.clone().into());
    Value::Object(object)
}

fn difference(difference: &Difference) -> Value {
    let mut object = json!({
        "area": difference.area.name(),
        "kind": difference.kind.name(),
        "topic": difference.topic.name(),
        "path": difference.path(),
    });
    for (side, found) in [("left", &difference.left), ("right", &difference.right)] {
        if let Some(found) = found {
            object[side] = part(found);
        }
    }
    if let Some(data) = &difference.data {
        object["data"] = statistics(data);
    }
    object
}

fn part(part: &DifferingPart) -> Value {
    let mut object = json!({"path": part.path, "value": part.value});
    if !part.uses.is_empty() {
        object["uses"] = part.uses.clone().into();
        object["more_uses"] = part.more_uses.into();
    }
    object
}

fn statistics(data: &DataStatistics) -> Value {
    let hex = |digest: [u8; 32]| data_encoding::HEXLOWER.encode(&digest);
    json!({
        "dtype": data.scalar_type.map(|scalar_type| scalar_type.to_string()),
        "elements": data.elements,
        "differing": data.differing,
        "not_finite": data.not_finite,
        "max_abs": data.max_abs,
        "mean_abs": data.mean_abs,
        "cosine": data.cosine,
        "sha256": data.sha256.map(|both| both.map(hex)),
    })
}
