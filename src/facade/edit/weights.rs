//! Weights by name: lists, manifests, and setting them. Methods of [`Model`] ask, those of [`Resolved`] change. The
//! work is done in [`pte_transform::weights`].

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::assembly::Assembly;
use crate::facade::model::{Model, data_entries};
use crate::layout::Segment;
use crate::pipeline::{AssembleOptions, Resolved};
use crate::printer;
use pte_model::data::{Blob, BlobId, BlobSource, dedup};
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_model::program::{Program, TensorLayout};
use pte_transform::pattern::NameMap;
use pte_transform::weights::manifest::Manifest;
use pte_transform::weights::set::{FoundName, SetRequest, SetSubject, WeightChanges};
use pte_transform::weights::{self, DataGroup, GivenEntry, Subject, WeightList, source};

pte_model::options! {
    /// Options of [`Resolved::weight_changes`] and of [`Resolved::payload_weights`].
    ///
    /// ```
    /// use pte_emit::weights::SetWeightsOptions;
    ///
    /// let options = SetWeightsOptions::default().map([("encoder.*=enc_*").parse().unwrap()].into_iter().collect());
    /// assert_eq!(options.map.apply("encoder.0"), "enc_0");
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct SetWeightsOptions {
        /// Names of constants to names in the source.
        pub map: NameMap,
        /// The weights that the file has now, with the names of the source: a constant that no rule of the map names
        /// has the name of the tensor with the same bytes, also if its two dimensions are swapped.
        pub like: Option<PathBuf>,
    }
}

impl Model {
    /// Lists the weights: constants, initial states, named data of delegates, entries of `.ptd` files, each with the
    /// hash of its bytes, its location and its users.
    ///
    /// The result consists of [`Weight`](crate::weights::Weight), [`WeightKind`](crate::weights::WeightKind),
    /// [`WeightLocation`](crate::weights::WeightLocation), [`StoredTwice`](crate::weights::StoredTwice) and
    /// [`StoredCopy`](crate::weights::StoredCopy).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::weights::{WeightKind, WeightList, WeightLocation};
    ///
    /// let list: WeightList = Model::open("examples/linear.yaml")?.weights()?;
    /// assert_eq!((&*list.weights[0].name, list.weights[0].bytes), ("weight", 48));
    /// assert_eq!(list.weights[0].used_by, ["forward"]);
    /// assert_eq!((list.weights[0].kind, list.weights[0].location), (WeightKind::Constant, WeightLocation::Segment));
    /// assert_eq!((WeightKind::State.name(), WeightLocation::Inline.name()), ("state", "inline"));
    /// assert!(list.stored_twice.is_empty());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read or is malformed, or the YAML is invalid.
    pub fn weights(&self) -> Result<WeightList, Error> {
        let mut given = IndexMap::new();
        for path in &self.source().data_files {
            for entry in data_entries(path)? {
                let (file, data, layout) = (path.display().to_string(), entry.data, entry.tensor_layout);
                given.entry(entry.key).or_insert(GivenEntry { file, data, layout });
            }
        }
        self.list_weights(self.assembly()?, &given).map_err(|error| self.source().unreadable(&error))
    }

    fn list_weights(&self, assembly: &Assembly, given: &IndexMap<String, GivenEntry>) -> io::Result<WeightList> {
        let same = dedup::find(&assembly.program.blobs).map_err(|(_, error)| error)?;
        let printed = LazyCell::new(|| printer::values(&assembly.program));
        let name = |method: usize, value: usize| match self.is_text() {
            true => assembly.value_name(method, value).map(str::to_owned),
            false => printed.get(method)?.names.get(value)?.clone(),
        };
        let first = |blob: BlobId| same[blob.0 as usize];
        let offsets = offsets(assembly, &first);
        let offset = |group: DataGroup, blob: BlobId| match assembly.program.blob(blob).source() {
            BlobSource::File { offset, .. } if self.origin().is_some() => Some(*offset),
            _ => offsets.get(&(group, first(blob))).copied(),
        };
        weights::list(&Subject {
            program: &assembly.program,
            same: &same,
            name: &name,
            offset: &offset,
            inline_constants: !assembly.plan.constant_buffer.is_empty(),
            given,
        })
    }

    /// Returns the manifest: a hash for each tensor, key of named data and payload, whatever file each is in.
    /// [`compare_manifests`](crate::weights::compare_manifests) compares two of them.
    ///
    /// ```
    /// use pte_emit::weights::{Manifest, ManifestDifference, ManifestDifferenceKind, ManifestEntry, ManifestKind};
    /// use pte_emit::Model;
    /// use pte_emit::weights::compare_manifests;
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let expected: Manifest = linear.manifest()?;
    /// let first: &ManifestEntry = &expected.entries[0];
    /// assert_eq!((first.kind, &*first.name), (ManifestKind::Tensor, "bias"));
    /// assert_eq!(ManifestKind::Payload.name(), "payload");
    ///
    /// let text = std::fs::read_to_string("examples/linear.yaml")?.replace("0.2576", "0.25");
    /// let changed = Model::from_yaml("changed.yaml", text, "examples").manifest()?;
    /// let differences: Vec<ManifestDifference> = compare_manifests(&expected, &changed);
    /// assert_eq!(differences[0].difference, ManifestDifferenceKind::Differs);
    /// assert!(differences[0].line().starts_with("differs: tensor `weight`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read or is malformed, the YAML is invalid, or data are in no given file.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        let unreadable = |error: io::Error| self.source().unreadable(&error);
        let resolved = self.resolve()?;
        let mut options = AssembleOptions { max_size: self.options().max_size, ..AssembleOptions::default() };
        options.internal_data = resolved.program.execution_plan.is_some();
        let assembly = resolved.to_files(&options)?;
        let list = self.list_weights(&assembly, &IndexMap::new()).map_err(unreadable)?;
        let program = &assembly.program;
        let tensors = program.plans().iter().flat_map(|plan| plan.tensors()).filter_map(|(_, tensor)| tensor.name());
        let keys = program.named_data.iter().flatten().map(|entry| entry.key.as_str());
        let stored: HashSet<&str> =
            tensors.chain(keys).chain(program.external_data.iter().map(|entry| entry.key.as_str())).collect();
        Manifest::of(&list, program, &|weight| stored.contains(&*weight.name)).map_err(unreadable)
    }
}

/// Returns the offsets of data in the files of an assembly, by the first blob with the same bytes.
fn offsets(assembly: &Assembly, first: &dyn Fn(BlobId) -> BlobId) -> HashMap<(DataGroup, BlobId), u64> {
    let mut offsets = HashMap::new();
    let mut add = |group: DataGroup, segment: &Segment, base: u64| {
        for piece in &segment.pieces {
            let offset = base.checked_add(segment.offset).and_then(|offset| offset.checked_add(piece.offset));
            offset.into_iter().for_each(|offset| _ = offsets.entry((group, first(piece.blob))).or_insert(offset));
        }
    };
    let plan = &assembly.plan;
    if let Some(file) = assembly.program_file() {
        let base = file.placement().segment_base_offset;
        for (number, segment) in plan.segments.iter().enumerate() {
            let number = number as u32;
            let is_state = plan.mutable_data.as_ref().is_some_and(|(at, _)| *at == number);
            let group = match (is_state, plan.named_data.contains(&number)) {
                (true, _) => DataGroup::States,
                (false, true) => DataGroup::Named,
                (false, false) => DataGroup::Constants,
            };
            add(group, segment, base);
        }
    }
    for (file, (_, output)) in plan.external.iter().zip(assembly.data_files()) {
        let base = output.placement().segment_base_offset;
        file.segments.iter().for_each(|segment| add(DataGroup::External, segment, base));
    }
    offsets
}

impl Resolved {
    /// Assigns the tensors of a `.safetensors`, `.ptd` or `.npy` to constants of this program, and to tensors of the
    /// `.ptd` files `others` that belong to it, by name. Changes nothing: [`Resolved::set_weights`] does.
    /// [`WeightChanges::problems`] has the reasons why the weights cannot be set.
    ///
    /// The result consists of [`WeightAssignment`](crate::weights::WeightAssignment),
    /// [`WeightMismatch`](crate::weights::WeightMismatch), [`UnsetWeight`](crate::weights::UnsetWeight),
    /// [`UnusedSource`](crate::weights::UnusedSource) and [`UnsettableWeight`](crate::weights::UnsettableWeight).
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    /// use pte_emit::weights::{SetWeightsOptions, WeightChanges};
    ///
    /// let mut resolved = Model::open("examples/linear.yaml")?.resolve()?;
    /// let source = "examples/data/linear.safetensors".as_ref();
    /// let options = SetWeightsOptions::default()
    ///     .map(["weight=l.weight", "bias=l.bias"].iter().map(|rule| rule.parse().unwrap()).collect());
    /// let changes: WeightChanges = resolved.weight_changes(&[], source, &options)?;
    /// assert_eq!(changes.set.len() + changes.mismatches.len() + changes.unset.len(), 2);
    /// if changes.problems(true).is_empty() {
    ///     resolved.set_weights(0, &changes);
    /// }
    /// resolved.to_files(&AssembleOptions::default())?;
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The source, or the file of [`SetWeightsOptions::like`], cannot be read or is malformed.
    pub fn weight_changes(
        &self,
        others: &[Resolved],
        from: &Path,
        options: &SetWeightsOptions,
    ) -> Result<WeightChanges, Error> {
        let sources = read_source(from)?;
        let programs: Vec<&Resolved> = std::iter::once(self).chain(others).collect();
        let printed: Vec<_> =
            programs.iter().map(|resolved| LazyCell::new(|| printer::values(&resolved.program))).collect();
        let names: Vec<_> = programs.iter().zip(&printed).map(|(resolved, printed)| resolved.namer(printed)).collect();
        let subjects = programs.iter().zip(&names);
        let subjects: Vec<SetSubject<'_>> =
            subjects.map(|(resolved, name)| SetSubject { program: &resolved.program, name }).collect();
        let like = Like::read(options)?;
        let found = |layout: &TensorLayout, data: &Blob| like.find(layout, data);
        Ok(weights::set::find(&subjects, sources, &SetRequest { map: &options.map, found: &found }))
    }

    /// Replaces the data of constants. `number` is 0 for the program of [`Resolved::weight_changes`], and 1, 2, ... for
    /// its `.ptd` files.
    pub fn set_weights(&mut self, number: usize, changes: &WeightChanges) {
        weights::set::apply(&mut self.program, number, changes);
    }

    /// Returns a function with the names of values: of the source, else those that `dump` prints.
    fn namer<'r, F: FnOnce() -> Vec<pte_analysis::planning::MethodValues>>(
        &'r self,
        printed: &'r LazyCell<Vec<pte_analysis::planning::MethodValues>, F>,
    ) -> impl Fn(usize, usize) -> Option<String> + 'r {
        move |method, value| {
            let name = || printed.get(method)?.names.get(value)?.clone();
            self.value_name(method, value).map(str::to_owned).or_else(name)
        }
    }
}

/// Reads the tensors of a source of weights.
///
/// # Errors
/// A file that cannot be read, is malformed, or has no tensors.
pub(super) fn read_source(path: &Path) -> Result<Vec<source::SourceTensor>, Error> {
    source::read(path).map_err(|error| Error::io(&path.display().to_string(), "", &error))
}

/// Names of tensors by their bytes: the weights that a file has now.
pub(super) struct Like {
    /// By digest and sizes: the tensors that have them, or whose transposition has them.
    names: HashMap<([u8; 32], Vec<i32>), Vec<FoundName>>,
}

impl Like {
    /// Hashes the tensors of [`SetWeightsOptions::like`].
    ///
    /// # Errors
    /// A file that cannot be read or is malformed.
    pub fn read(options: &SetWeightsOptions) -> Result<Like, Error> {
        let mut like = Like { names: HashMap::new() };
        let Some(path) = &options.like else { return Ok(like) };
        let unreadable = |error: io::Error| Error::io(&path.display().to_string(), "", &error);
        for tensor in read_source(path)? {
            let TensorLayout { scalar_type, sizes, dim_order } = &tensor.layout;
            let element = scalar_type.element_size();
            let contiguous = TensorLayout::new(*scalar_type, sizes.clone()).dim_order;
            let data = tensor.data.clone().reordered(element, sizes, dim_order, &contiguous);
            like.add(&data, sizes.clone(), &tensor.name, false).map_err(unreadable)?;
            if let [rows, columns] = **sizes
                && (rows != columns || rows > 1)
            {
                let transposed = data.reordered(element, sizes, &contiguous, &[1, 0]);
                like.add(&transposed, vec![columns, rows], &tensor.name, true).map_err(unreadable)?;
            }
        }
        Ok(like)
    }

    fn add(&mut self, data: &Blob, sizes: Vec<i32>, name: &str, is_transposed: bool) -> io::Result<()> {
        let found = FoundName { name: name.to_owned(), is_transposed };
        self.names.entry((data.digest()?, sizes)).or_default().push(found);
        Ok(())
    }

    /// Returns the tensors with these data; several are ambiguous.
    pub fn find(&self, layout: &TensorLayout, data: &Blob) -> Vec<FoundName> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let element = layout.scalar_type.element_size();
        let contiguous = TensorLayout::new(layout.scalar_type, layout.sizes.clone()).dim_order;
        let data = data.clone().reordered(element, &layout.sizes, &layout.dim_order, &contiguous);
        let found = data.digest().ok().and_then(|digest| self.names.get(&(digest, layout.sizes.clone())));
        found.cloned().unwrap_or_default()
    }
}

/// Parses a manifest.
///
/// ```
/// let error = pte_emit::weights::parse_manifest("m.json", "{\"manifest\": 7, \"entries\": []}").unwrap_err();
/// assert!(error.to_string().contains("version 7, expected 1"));
/// ```
///
/// # Errors
/// JSON of another form.
pub fn parse_manifest(name: &str, text: &str) -> Result<Manifest, Error> {
    let found: Result<Manifest, String> = serde_json::from_str(text).map_err(|error| error.to_string());
    let checked = found.and_then(|manifest: Manifest| manifest.check().map(|()| manifest));
    let wrong = |error: String| {
        let error = pte_model::diagnostics::text::clipped_to(&error, 200);
        Error::input(Code::UnexpectedInput, name, format!("not a manifest of `pte-emit manifest`: {error}"))
    };
    checked.map_err(wrong)
}

/// Returns the entries of a `.ptd`, for their keys ([`crate::Model::manifest`]).
pub(super) fn keys_of(program: &Program) -> HashSet<String> {
    program.external_data.iter().map(|entry| entry.key.clone()).collect()
}
