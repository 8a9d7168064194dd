//! Options of printing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::extracted::ExtractedFiles;
use crate::assembly::Assembly;
use pte_model::data::Blob;

/// Treatment of data larger than 256 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LargeData {
    /// Written in the YAML.
    #[default]
    Inline,
    /// Referred to as a range of [`PrintOptions::file`](super::PrintOptions::file).
    Refer,
    /// Stored in files in this folder, which is relative to that of the YAML. [`Printed::files`](super::Printed::files)
    /// has the files; the caller writes them.
    Extract(PathBuf),
    /// Printed as the SHA-256 digest of the bytes and their number, for comparisons. The YAML cannot be assembled.
    Hash,
}

/// Form of the payloads of delegates.
///
/// ```
/// use pte_emit::{Model, PayloadForm, PrintOptions};
///
/// let nodes = "[{abs: {input: x, output: y}}]";
/// let graph = format!("{{values: {{x: {{datatype: fp32, sizes: [1]}}}}, inputs: [x], outputs: [y], nodes: {nodes}}}");
/// let yaml = format!("methods: {{f: {{delegates: {{d: {{backend: XnnpackBackend, graph: {graph}}}}}}}}}");
/// let source = Model::from_yaml("f.yaml", &yaml, ".");
/// let assembly = source.assembly()?;
/// let mut bytes = Vec::new();
/// assembly.program_file().unwrap().write(&mut bytes)?;
///
/// let (file, mut options) = (Model::from_binary("f.pte", &bytes), PrintOptions::default());
/// assert!(file.to_yaml(".".as_ref(), &options)?.text.contains("{abs: {input: x, output: y}}"));
/// options.payload = PayloadForm::Opaque;
/// assert!(file.to_yaml(".".as_ref(), &options)?.text.contains("data: {hex: "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadForm {
    /// As a graph, if that reproduces the payload.
    #[default]
    Graph,
    /// As data.
    Opaque,
}

/// What of a file assembling its YAML gives again.
///
/// ```
/// use pte_emit::{Model, PrintOptions, Reproduction};
///
/// let assembly = Model::open("examples/add.yaml")?.assemble(&Default::default())?;
/// let file = Model::from_binary("add.pte", assembly.program_file().unwrap().to_vec()?);
/// let options = PrintOptions::default().reproduction(Reproduction::AllButOffsets);
/// let printed = file.to_yaml(".".as_ref(), &options)?;
/// assert_eq!(printed.difference.as_deref(), Some("its memory is planned again"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reproduction {
    /// The file, byte for byte if possible.
    #[default]
    File,
    /// All but the offsets of planned memory, which the YAML omits: assembling plans the memory again. A method whose
    /// tensors share bytes while they are alive keeps its offsets.
    AllButOffsets,
    /// What the program computes, without indices, offsets and overrides that only reproduce the file: assembling
    /// numbers the values and plans the memory again.
    Program,
}

pte_model::options! {
    /// Options of printing.
    #[derive(Debug, Clone, Default)]
    pub struct PrintOptions {
        /// Print all properties, including those that assembling computes.
        pub explicit: bool,
        /// What of the file assembling the YAML gives again.
        pub reproduction: Reproduction,
        /// Treatment of large data.
        pub large_data: LargeData,
        /// Form of the payloads of delegates.
        pub payload: PayloadForm,
        /// Name of the printed file, for references to ranges of it.
        pub file: String,
        /// Names of values by method: in place of the names that printing gives them, which are the keys.
        pub names: BTreeMap<String, BTreeMap<String, String>>,
    }
}

/// Function that assembles printed YAML. It takes the YAML, the folder that its paths are relative to, and files that
/// do not exist yet; it returns the first error as a message. It is a parameter because the printer must not depend on
/// the parser.
pub type Assembler<'a> = dyn Fn(&str, &Path, &BTreeMap<PathBuf, Blob>) -> Result<Assembly, String> + Sync + 'a;

/// Context of printing.
#[derive(Clone, Copy)]
pub struct Printer<'p> {
    /// Folder of the YAML, to which its paths are relative.
    pub folder: &'p Path,
    /// Options.
    pub options: &'p PrintOptions,
    /// Assembles YAML.
    pub assembler: &'p Assembler<'p>,
    /// Maximum size in bytes of the data that are written in the YAML or to other files.
    pub readable: u64,
    /// Files that the YAML refers to.
    pub extracted: &'p RefCell<ExtractedFiles>,
}

impl Printer<'_> {
    /// Assembles printed YAML.
    ///
    /// # Errors
    /// The first error in the YAML.
    pub fn assemble(&self, yaml: &str) -> Result<Assembly, String> {
        (self.assembler)(yaml, self.folder, &self.extracted.borrow().files())
    }
}
