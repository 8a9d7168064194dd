//! Files of safetensors, and a program with their data.

use crate::folder::Folder;

/// A file with these JSON members and this number of data bytes, padded as the reference implementation does.
pub fn file(members: &[&str], data: u8) -> Vec<u8> {
    let mut json = format!("{{{}}}", members.join(",")).into_bytes();
    json.resize(json.len().next_multiple_of(8), b' ');
    let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
    bytes.extend(json);
    bytes.extend(0..data);
    bytes
}

pub const METADATA: &str = r#""__metadata__":{"z":"1","a":"2"}"#;

/// A program of two external tensors.
const PROGRAM: &str = "
methods:
  forward:
    values:
      a: {tensor: float32, data: [1], external: true}
      c: {tensor: float32, data: [2], external: other}
      y: {tensor: float32, sizes: [1]}
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [a, c], out: y}
";

/// Builds `m.pte` of `PROGRAM`, and `one.ptd` and `two.ptd` of files with equal metadata, which have its data.
pub fn program_with_data() -> Folder {
    let folder = Folder::new(&[("m.yaml", PROGRAM)]);
    folder.run(&["m.yaml", "-o", "m.pte"]).exits(0);
    for (name, key) in [("one", "a"), ("two", "c")] {
        let tensor = format!(r#""{key}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#);
        folder.write(&format!("{name}.safetensors"), file(&[METADATA, &tensor], 4));
        folder.run(&[&format!("{name}.safetensors"), "-o", &format!("{name}.ptd")]).exits(0);
    }
    folder
}
