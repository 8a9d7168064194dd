//! Edits of whole programs and their methods: [`Resolved::merge`], [`Resolved::extract_methods`],
//! [`Resolved::rename_methods`], [`Resolved::strip`], [`Model::change_outputs`], [`Model::quantize_io`] and metadata.
//! Memory plans are kept, except by a merge that shares state, for new outputs, and for inputs of other types.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;

use serde::Serialize;

use super::layouts::{self, InputLayout};
use crate::emitter;
use crate::facade::model::{Model, data_entries};
use crate::layout::{self, LayoutConfig};
use crate::pipeline::{AssembleOptions, Resolved};
use crate::printer::Reproduction;
use indexmap::IndexSet;
use pte_model::data::dedup;
use pte_model::diagnostics::{Code, Diagnostic, Report, clipped, first_names};
use pte_model::error::Error;
use pte_model::program::test_cases::{MethodTests, TestCase};
use pte_model::program::{METADATA_PREFIX, Program};
use pte_model::reader::flat_tensor::FlatTensorEntry;
use pte_transform::converted_io::{ConvertedIo, ConvertedIoOptions};
use pte_transform::error::EditError;
use pte_transform::extract::Extracted;
use pte_transform::merge::{MergeInput, MergeOptions, Merged};
use pte_transform::metadata::{MetadataChange, MetadataEntry, MetadataOptions};
use pte_transform::optimize::minimize::kept_plan;
use pte_transform::outputs::{ChangedOutputs, OutputOptions};
use pte_transform::pattern::NameRule;
use pte_transform::quantized_io::{QuantizedIo, QuantizedIoOptions};
use pte_transform::rename::MethodRename;
use pte_transform::strip::StripKind;
use pte_transform::weights::rename::RenamedWeight;
use pte_transform::{converted_io, extract, merge, metadata, outputs, quantized_io, rename, strip, weights};

/// Parts of one kind that [`Resolved::strip`] removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stripped {
    /// Kind.
    pub kind: StripKind,
    /// Number of removed parts.
    pub count: usize,
    /// Bytes by which the program's file is smaller; of tests, the bytes of their tensors.
    pub bytes: u64,
}

/// Returns the error about a source of this name.
fn failed(label: &str, error: EditError) -> Error {
    match error {
        EditError::Request(messages) => Error::new(Report::new(label, "", messages)),
        EditError::Io(error) => Error::io(label, "", &error),
    }
}

impl Resolved {
    /// Merges programs: the methods of all inputs with their tests become methods of one program, and equal data are
    /// stored once. Each method keeps its memory plan. If all inputs are for the same [`Resolved::runtime`], so is the
    /// result. With [`MergeOptions::share_state`], the inputs should be those of
    /// [`Model::resolve_for_changes`](crate::Model::resolve_for_changes), because methods with shared state are planned
    /// again.
    ///
    /// Inputs without methods are weights, whose entries are merged by key. `with` are `.ptd` files with data that the
    /// programs refer to: they are not merged, and no two of them may have a key in common.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model, Resolved};
    /// use pte_emit::edit::{MergeOptions, Merged, MergedMethod, MethodRename, SharedBuffer};
    ///
    /// let add = Model::open("examples/add.yaml")?.resolve()?;
    /// let inputs = vec![add, Model::open("examples/linear.yaml")?.resolve()?];
    /// let options = MergeOptions::default().renames(vec![(Some(0), MethodRename::new("forward", "add"))]);
    /// let (resolved, merged): (Resolved, Merged) = Resolved::merge(inputs, &options)?;
    /// let first: &MergedMethod = &merged.methods[0];
    /// assert_eq!((first.original.as_str(), first.input.as_str()), ("forward", "examples/add.yaml"));
    /// let shared: &[SharedBuffer] = &merged.shared_state;
    /// assert!(shared.is_empty());
    /// let names: Vec<_> = resolved.program.plans().iter().map(|plan| plan.name.as_deref().unwrap()).collect();
    /// assert_eq!(names, ["add", "forward"]);
    /// assert!(resolved.to_files(&AssembleOptions::default())?.program_file().is_some());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Conflicts, each with both origins: names of methods, keys with other data, layouts, versions. Inputs with
    /// `raw:`. Data that cannot be read.
    pub fn merge(inputs: Vec<Resolved>, options: &MergeOptions) -> Result<(Resolved, Merged), Error> {
        let stated = |input: Resolved| match options.share_state {
            true => input.without_overrides(),
            false => input.with_stated_memory(),
        };
        let data_files: IndexSet<&PathBuf> = inputs.iter().flat_map(|input| &input.source.data_files).collect();
        let data_files: Vec<PathBuf> = data_files.into_iter().cloned().collect();
        let mut inputs = inputs.into_iter().map(stated).collect::<Result<Vec<Resolved>, Error>>()?;
        // What the exporter of a common release decides cannot be a conflict.
        let runtime = inputs.first().and_then(|input| input.runtime.clone());
        let runtime = runtime.filter(|release| inputs.iter().all(|input| input.runtime.as_ref() == Some(release)));
        let common = |inputs: &[Resolved]| {
            let layouts: Vec<InputLayout<'_>> =
                inputs.iter().map(|input| InputLayout::new(input.label(), &input.program, &input.layout)).collect();
            layouts::common(&layouts)
        };
        let mut former = Vec::new();
        if let Some(release) = &runtime {
            let binary = inputs.iter().filter(|input| !input.origins.has_positions());
            former.extend(binary.map(|input| input.layout.clone()));
            inputs.iter_mut().try_for_each(|input| input.lay_out_for(release, &AssembleOptions::default()))?;
        }
        if let Some(newer) = inputs.iter().find(|input| input.program.newer_parts().is_some()) {
            let paths = newer.program.newer_paths();
            let message = format!("a merge would lose parts of a newer schema: {paths}");
            return Err(newer.error(vec![Code::UnmetRequest.whole(message)]));
        }
        let layout = common(&inputs);
        let mut messages = layout.as_ref().err().cloned().unwrap_or_default();
        compare_files(&data_files, &mut messages)?;
        let parts = inputs.into_iter().map(|input| MergeInput {
            name: input.label(),
            program: input.program,
            tests: input.tests,
        });
        let (program, tests, report) = match merge::merge(parts.collect(), options) {
            Err(EditError::Request(mut conflicts)) => {
                messages.append(&mut conflicts);
                return Err(failed("", messages.into()));
            }
            Err(EditError::Io(error)) => return Err(Error::io("", "", &error)),
            Ok(merged) => merged,
        };
        let layout = layout.map_err(|_| failed("", std::mem::take(&mut messages).into()))?;
        if !messages.is_empty() {
            return Err(failed("", messages.into()));
        }
        let mut resolved = Resolved::from(program);
        (resolved.layout, resolved.tests, resolved.runtime, resolved.former) = (layout, tests, runtime, former);
        Ok((resolved.with_data_files(data_files), report))
    }

    /// Keeps the methods whose names match a pattern, in which `*` stands for any characters, with the data that they
    /// need. All others are removed with their tests.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::Extracted;
    ///
    /// let methods = Model::open("examples/methods.yaml")?.resolve()?;
    /// let (resolved, extracted): (_, Extracted) = methods.extract_methods(&["forward".to_owned()])?;
    /// assert_eq!((resolved.program.plans().len(), &extracted.methods[..]), (1, &["forward".to_owned()][..]));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A pattern that no method matches; an input with `raw:`; payloads that cannot be read.
    pub fn extract_methods(self, patterns: &[String]) -> Result<(Resolved, Extracted), Error> {
        self.edit(|program, tests| extract::extract(program, tests, patterns))
    }

    /// Renames methods, all at once, with their tests and their descriptions for training. Returns the renamed methods.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::MethodRename;
    ///
    /// let linear = Model::open("examples/linear.yaml")?.resolve()?;
    /// let (resolved, renamed) = linear.rename_methods(&[MethodRename::new("forward", "linear")])?;
    /// assert_eq!(resolved.program.plans()[0].name.as_deref(), Some("linear"));
    /// assert_eq!(renamed, [MethodRename::new("forward", "linear")]);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown method, or a new name that another method has; an input with `raw:`.
    pub fn rename_methods(self, renames: &[MethodRename]) -> Result<(Resolved, Vec<MethodRename>), Error> {
        self.edit(|program, tests| Ok(rename::rename(program, tests, renames)?))
    }

    /// Renames weights, all at once: constants, states, named data and entries of a `.ptd`. Returns those that have
    /// other names now.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::NameRule;
    /// use pte_emit::weights::RenamedWeight;
    ///
    /// let rules: Vec<NameRule> = vec!["l.*=head.*".parse().unwrap()];
    /// let linear = Model::open("examples/linear_external.yaml")?.resolve()?;
    /// let (resolved, renamed) = linear.rename_weights(rules)?;
    /// let first: &RenamedWeight = &renamed[0];
    /// assert_eq!((&*first.from, &*first.to), ("l.bias", "head.bias"));
    /// assert!(resolved.program.plans()[0].tensors().any(|(_, tensor)| tensor.name() == Some("head.bias")));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rule that applies to no weight, names that delegates look up, different weights of one name; an input with
    /// `raw:`.
    pub fn rename_weights(self, rules: Vec<NameRule>) -> Result<(Resolved, Vec<RenamedWeight>), Error> {
        let names = rules.into_iter().collect();
        self.edit(|program, _| Ok(weights::rename::rename(program, &names)?))
    }

    /// Adds a test of a method.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::program::test_cases::TestCase;
    ///
    /// let relu = Model::open("examples/methods.yaml")?.resolve()?;
    /// let case = TestCase { inputs: vec![], outputs: None, atol: 0.0, rtol: 0.0 };
    /// assert!(relu.add_test("get_version", case).tests.iter().any(|tests| tests.method == "get_version"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn add_test(mut self, method: &str, case: TestCase) -> Resolved {
        match self.tests.iter_mut().find(|tests| tests.method == method) {
            Some(tests) => tests.cases.push(case),
            None => self.tests.push(MethodTests::new(method, vec![case])),
        }
        self
    }

    /// Removes the given kinds of parts, which the runtime does not need, in the order of [`StripKind::ALL`]. Returns
    /// the number and bytes of each kind.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::{StripKind, Stripped};
    ///
    /// let addmul = Model::open("examples/addmul.yaml")?.resolve()?;
    /// let (resolved, stripped): (_, Vec<Stripped>) = addmul.strip(&[StripKind::Tests])?;
    /// assert!(resolved.tests.is_empty() && stripped[0].count > 0);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// An input with `raw:`, or one that cannot be planned; data that cannot be read.
    pub fn strip(self, kinds: &[StripKind]) -> Result<(Resolved, Vec<Stripped>), Error> {
        let label = self.label();
        let layout = self.layout.clone();
        self.edit(|program, tests| {
            let size = |program: &Program| file_size(program, &layout, &label);
            let mut list = Vec::new();
            let mut before = size(program)?;
            for kind in StripKind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
                let data: u64 = tests.iter().map(MethodTests::size).fold(0, u64::saturating_add);
                let count = strip::strip(program, tests, kind);
                let after = if count > 0 { size(program)? } else { before };
                let bytes = if kind == StripKind::Tests { data } else { before.saturating_sub(after) };
                list.push(Stripped { kind, count, bytes });
                before = after;
            }
            Ok(list)
        })
    }

    /// Returns the metadata: the values of constant methods, and named data whose keys begin with `metadata.`.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::{METADATA_PREFIX, MetadataEntry, MetadataValue};
    ///
    /// let yaml = "methods: {get_vocab_size: {outputs: [32000]}, get_shape: {outputs: [1, 2]}}";
    /// let entries: Vec<MetadataEntry> = Model::from_yaml("m.yaml", yaml, ".").resolve()?.metadata()?;
    /// assert_eq!((entries[0].key.as_str(), &entries[0].value), ("get_vocab_size", &MetadataValue::Int(32000)));
    /// assert_eq!(entries[1].value.to_string(), "[1, 2]");
    /// assert!(entries.iter().all(|entry| !entry.key.starts_with(METADATA_PREFIX)));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Named data that cannot be read.
    pub fn metadata(&self) -> Result<Vec<MetadataEntry>, Error> {
        metadata::list(&self.program).map_err(|error| Error::io(&self.label(), "", &error))
    }

    /// Returns the metadata whose keys match a pattern, in which `*` stands for any characters.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let yaml = "methods: {get_vocab_size: {outputs: [32000]}, get_shape: {outputs: [1, 2]}}";
    /// let resolved = Model::from_yaml("m.yaml", yaml, ".").resolve()?;
    /// assert_eq!(resolved.find_metadata(&["*size".to_owned()])?.len(), 1);
    /// assert!(resolved.find_metadata(&["size".to_owned()]).unwrap_err().to_string().contains("no metadata `size`"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A pattern without an entry; named data that cannot be read.
    pub fn find_metadata(&self, patterns: &[String]) -> Result<Vec<MetadataEntry>, Error> {
        metadata::find(&self.program, patterns).map_err(|error| failed(&self.label(), error))
    }

    /// Sets an entry of the metadata: a constant method, or named data if the key begins with `metadata.`. `text` is a
    /// value as [`MetadataValue::parse`](crate::edit::MetadataValue::parse) reads it, or a tensor as in YAML, such as
    /// `{tensor: int64, data: [1, 8]}`. An entry that exists keeps its type. The options change both.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::{MetadataChange, MetadataOptions};
    ///
    /// let linear = Model::open("examples/linear.yaml")?.resolve()?;
    /// let options = MetadataOptions::default();
    /// let (resolved, change): (_, MetadataChange) = linear.set_metadata("get_eos_id", "2", &options)?;
    /// assert_eq!((change.before, resolved.metadata()?.len()), (None, 1));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value of another type; a method that is not a constant method; an input without methods or with `raw:`.
    pub fn set_metadata(
        self,
        key: &str,
        text: &str,
        options: &MetadataOptions,
    ) -> Result<(Resolved, MetadataChange), Error> {
        let is_tensor = { text.strip_prefix('{') }
            .is_some_and(|text| text.trim_start_matches(['"', '\'', ' ']).starts_with("tensor"));
        if !is_tensor || options.verbatim || key.starts_with(METADATA_PREFIX) {
            return self.edit(|program, _| metadata::set(program, key, text, options));
        }
        let yaml = format!("methods: {{value: {{values: {{value: {text}}}, outputs: [value]}}}}");
        let mut from = Model::from_yaml(format!("value of {}", clipped(key)), yaml, ".").resolve()?.program;
        from.execution_plan.iter_mut().flatten().for_each(|plan| plan.name = Some(key.to_owned()));
        self.edit(|program, _| metadata::set_tensor(program, key, &from, options))
    }

    /// Removes the entries of the metadata whose keys match a pattern.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let yaml = "methods: {get_vocab_size: {outputs: [32000]}, get_shape: {outputs: [1, 2]}}";
    /// let resolved = Model::from_yaml("m.yaml", yaml, ".").resolve()?;
    /// let (resolved, removed) = resolved.remove_metadata(&["get_s*".to_owned()])?;
    /// assert_eq!((resolved.program.plans().len(), removed[0].key.as_str()), (1, "get_shape"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A pattern without an entry; an input with `raw:`.
    pub fn remove_metadata(self, patterns: &[String]) -> Result<(Resolved, Vec<MetadataChange>), Error> {
        self.edit(|program, _| metadata::remove(program, patterns))
    }

    /// Edits the program and its tests; memory plans stay.
    fn edit<T>(
        self,
        change: impl FnOnce(&mut Program, &mut Vec<MethodTests>) -> Result<T, EditError>,
    ) -> Result<(Resolved, T), Error> {
        let mut resolved = self.with_stated_memory()?;
        let (mut program, mut tests) = (std::mem::take(&mut resolved.program), std::mem::take(&mut resolved.tests));
        let done = change(&mut program, &mut tests).map_err(|error| failed(&resolved.label(), error))?;
        Ok((resolved.edited(program, tests), done))
    }
}

impl Model {
    /// Adds and removes outputs of a method: any value can be one, and is then returned after the others. Memory is
    /// planned again, without the offsets of a file where a new output outlives them. Expected outputs of tests of the
    /// method are removed if they do not have the new outputs.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::{ChangedOutputs, OutputOptions};
    ///
    /// let bytes = Model::open("examples/linear.yaml")?.assembly()?.program_file().unwrap().to_vec()?;
    /// let options = OutputOptions::default().add(vec!["linear".into()]);
    /// let linear = Model::from_binary("linear.pte", bytes);
    /// let (resolved, changed): (_, ChangedOutputs) = linear.change_outputs(&options)?;
    /// assert_eq!(changed.outputs, ["relu", "linear"]);
    /// assert_eq!(resolved.program.plans()[0].outputs.as_ref().unwrap().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Names that the method does not have, values that nothing computes; a new output of a method whose memory plan no
    /// planner gives.
    pub fn change_outputs(&self, options: &OutputOptions) -> Result<(Resolved, ChangedOutputs), Error> {
        let mut resolved = match options.add.is_empty() {
            true => self.resolve_for_changes()?,
            false => self.resolve_to_plan()?,
        };
        let (program, tests, origins) = (&mut resolved.program, &mut resolved.tests, &resolved.origins);
        let name = |method, value| origins.name(method, value).map(str::to_owned);
        let changed = outputs::change(program, tests, options, name).map_err(|error| failed(&self.label(), error))?;
        Ok((resolved, changed))
    }

    /// Makes inputs and outputs quantized that a method quantizes first and dequantizes last, by calls or in payloads
    /// of XNNPACK: the caller passes and gets the integers. Memory is planned again. Tests of the method are removed,
    /// since their inputs are of other types.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::{QuantizedIo, QuantizedIoOptions, QuantizedValue};
    ///
    /// let model = Model::open("examples/xnnpack_quantized_convolution.yaml")?;
    /// let (resolved, done): (_, QuantizedIo) = model.quantize_io(&QuantizedIoOptions::default())?;
    /// let x: &QuantizedValue = &done.values[0];
    /// assert_eq!((&*x.name, &*x.scalar_type, x.scale, x.zero_point), ("x", "int8", 0.5, 0));
    /// assert_eq!(resolved.program.plans()[0].tensors().count(), 2);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Names that the method does not have, inputs and outputs that something else uses, too; a method whose memory
    /// plan no planner gives.
    pub fn quantize_io(&self, options: &QuantizedIoOptions) -> Result<(Resolved, QuantizedIo), Error> {
        self.edit_io(|program, tests, name| quantized_io::quantize(program, tests, options, name))
    }

    /// Gives inputs and outputs other element types or orders of dimensions, normalises inputs, and quantizes or
    /// dequantizes: calls convert what the caller passes and gets. Memory is planned again. Tests of the method are
    /// removed.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::{ConvertedIo, ConvertedIoOptions, ConvertedValue, IoQuantization, IoType, Normalisation};
    /// use pte_emit::ScalarType;
    ///
    /// let bytes = IoType { scalar_type: Some(ScalarType::BYTE), channels_last: None };
    /// let by = Normalisation { mean: vec![127.5], std: vec![127.5] };
    /// let options = ConvertedIoOptions::default().inputs(vec![("x".into(), bytes)]);
    /// let options = options.normalised(vec![("x".into(), by)]);
    /// let (resolved, done): (_, ConvertedIo) = Model::open("examples/linear.yaml")?.convert_io(&options)?;
    /// let x: &ConvertedValue = &done.values[0];
    /// assert_eq!((&*x.scalar_type, x.calls), ("uint8", 3));
    /// assert_eq!(resolved.program.plans()[0].instructions().count(), 3 + 3);
    ///
    /// let by = IoQuantization { scale: 0.5, zero_point: 3, scalar_type: None };
    /// let options = ConvertedIoOptions::default().quantized(vec![("x".into(), by)]);
    /// let (_, done) = Model::open("examples/linear.yaml")?.convert_io(&options)?;
    /// assert_eq!(&*done.values[0].scalar_type, "int8");
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Names that the method does not have, inputs that it writes, numbers for other channels; a method whose memory
    /// plan no planner gives.
    pub fn convert_io(&self, options: &ConvertedIoOptions) -> Result<(Resolved, ConvertedIo), Error> {
        self.edit_io(|program, tests, name| converted_io::convert(program, tests, options, name))
    }

    /// Changes the inputs and outputs of a method.
    fn edit_io<T>(
        &self,
        edit: impl FnOnce(
            &mut Program,
            &mut Vec<MethodTests>,
            &dyn Fn(usize, usize) -> Option<String>,
        ) -> Result<T, EditError>,
    ) -> Result<(Resolved, T), Error> {
        let mut resolved = self.resolve_to_plan()?;
        let (mut program, mut tests) = (std::mem::take(&mut resolved.program), std::mem::take(&mut resolved.tests));
        let origins = &resolved.origins;
        let done = edit(&mut program, &mut tests, &|method, value| origins.name(method, value).map(str::to_owned));
        let done = done.map_err(|error| failed(&self.label(), error))?;
        Ok((resolved.edited(program, tests), done))
    }

    /// Resolves the source for a change that needs other memory: a file without its offsets, if it states some.
    fn resolve_to_plan(&self) -> Result<Resolved, Error> {
        let resolved = self.resolve_for_changes()?;
        match resolved.program.plans().iter().any(|plan| kept_plan(plan).is_some()) {
            true => self.resolve_printed(Reproduction::AllButOffsets),
            false => Ok(resolved),
        }
    }
}

/// Returns the size in bytes of the file of a program.
fn file_size(program: &Program, layout: &LayoutConfig, label: &str) -> Result<u64, EditError> {
    let unplanned = || EditError::request(format!("{label} cannot be planned; `pte-emit check` shows why"));
    let same = dedup::find(&program.blobs).map_err(|(_, error)| error)?;
    let plan = layout::plan(program, &same, layout).map_err(|_| unplanned())?;
    let flatbuffer = emitter::program::emit(program, &plan, layout, None)?;
    let placement = layout::file::program(flatbuffer.len() as u64, &plan.segments, layout).ok_or_else(unplanned)?;
    Ok(placement.file_size)
}

/// Compares the data of `.ptd` files by key. An error for each pair of files that have keys in common, with the same
/// data or with other data, is added to `messages`: the runtime does not load two files with a key.
fn compare_files(files: &[PathBuf], messages: &mut Vec<Diagnostic>) -> Result<(), Error> {
    let mut first: HashMap<String, (usize, FlatTensorEntry)> = HashMap::new();
    let mut common: BTreeMap<(usize, usize, bool), Vec<String>> = BTreeMap::new();
    for (number, path) in files.iter().enumerate() {
        let unreadable = |error: io::Error| Error::io(&path.display().to_string(), "", &error);
        for entry in data_entries(path)? {
            let Some((other, present)) = first.get(&entry.key) else {
                first.insert(entry.key.clone(), (number, entry));
                continue;
            };
            let same = present.tensor_layout == entry.tensor_layout
                && merge::have_same_bytes(&present.data, &entry.data).map_err(unreadable)?;
            common.entry((*other, number, same)).or_default().push(entry.key);
        }
    }
    for ((a, b, same), keys) in common {
        let [a, b] = [a, b].map(|file| files[file].display().to_string());
        let keys = first_names(keys.iter().map(String::as_str));
        messages.push(if same {
            let message = format!(
                "{a} and {b} have the same data with the keys {keys}, but the runtime loads a key of one file only"
            );
            let help = format!("merge them, and name the result in their place: `pte-emit merge {a} {b} -o FILE.ptd`");
            Code::ConflictingData.whole(message).help(help)
        } else {
            let help = "a program finds the data of a key in one place: export one of them again with other keys";
            Code::ConflictingData.whole(format!("{a} and {b} have other data with the keys {keys}")).help(help)
        });
    }
    Ok(())
}
