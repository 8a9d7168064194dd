//! [`Recording`]: an ETDump of the runtime, and [`Model::profile`], which joins its times with a program.

use std::path::Path;

use crate::facade::inspection::Inspected;
use crate::facade::model::Model;
use pte_etdump::EtDump;
use pte_inspect::profile::{TimeProfile, Timeline};
use pte_model::data::files;
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_model::format::container::MAX_FLATBUFFER;
use pte_model::program::ExecutionPlan;
use pte_transform::pattern::Pattern;

/// Recording of ExecuTorch's runtime while it executed a program: the content of an ETDump file.
///
/// ```
/// use pte_emit::profile::Recording;
///
/// let linear = Recording::open("crates/pte-etdump/tests/recorded/linear.etdump")?;
/// assert_eq!(linear.blocks(), ["Default", "Execute", "Execute"]);
/// assert!(Recording::from_bytes("linear.pte", b"\0\0\0\0ET12").is_err());
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recording {
    name: String,
    dump: EtDump,
}

impl Recording {
    /// Reads an ETDump file.
    ///
    /// # Errors
    /// The file cannot be read, or is not an ETDump.
    pub fn open(path: impl AsRef<Path>) -> Result<Recording, Error> {
        let name = path.as_ref().display().to_string();
        let bytes = read(path.as_ref()).map_err(|error| Error::io(&name, "", &error))?;
        Recording::from_bytes(&name, &bytes)
    }

    /// Reads the bytes of an ETDump file. `name` is for messages.
    ///
    /// # Errors
    /// The bytes are not an ETDump.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Recording, Error> {
        let dump = EtDump::read(bytes)
            .map_err(|error| Error::input(Code::InvalidFile, name, format!("not a valid ETDump: {error}")))?;
        Ok(Recording { name: name.to_owned(), dump })
    }

    /// Returns the names of its blocks: `Default` for the loading of a method, `Execute` for an execution.
    pub fn blocks(&self) -> Vec<&str> {
        self.dump.runs.iter().map(|run| run.name.as_str()).collect()
    }

    /// Content of the file.
    pub(crate) fn dump(&self) -> &EtDump {
        &self.dump
    }

    /// Returns an error about the file.
    pub(crate) fn error(&self, message: impl ToString) -> Error {
        Error::input(Code::UnmetRequest, &self.name, message.to_string())
    }
}

/// Reads an ETDump file.
pub(crate) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    files::read_up_to(path, MAX_FLATBUFFER + 1)
}

/// Methods that are selected by names or patterns.
pub(crate) struct Selection(Vec<Pattern>);

impl Selection {
    /// Selects the methods that match one of these patterns; all without patterns.
    pub(crate) fn new(patterns: &[String]) -> Selection {
        Selection(patterns.iter().map(Pattern::new).collect())
    }

    /// Returns true if a method is selected.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.matches(name))
    }
}

impl Model {
    /// Joins the times of a recording with the instructions, operators and delegates of the program. The methods that
    /// were executed are found by their instructions. If several have the same instructions, `methods` selects: names
    /// or patterns, in which `*` stands for any characters; all methods if it is empty.
    ///
    /// The result consists of [`TimeProfile`](crate::profile::TimeProfile),
    /// [`MethodProfile`](crate::profile::MethodProfile), [`MeasuredTime`](crate::profile::MeasuredTime),
    /// [`InstructionTime`](crate::profile::InstructionTime), [`OperatorTime`](crate::profile::OperatorTime),
    /// [`DelegateTime`](crate::profile::DelegateTime), [`OperationTime`](crate::profile::OperationTime),
    /// [`GraphOperation`](crate::profile::GraphOperation) and [`ComparedTime`](crate::profile::ComparedTime).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::profile::Recording;
    ///
    /// let recording = Recording::open("crates/pte-etdump/tests/recorded/linear.etdump")?;
    /// let profile = Model::open("examples/linear.yaml")?.profile(&recording, &[])?;
    /// let forward = &profile.methods[0];
    /// assert_eq!((&*forward.name, forward.executions.count), ("forward", 2));
    /// let labels: Vec<&str> = forward.instructions.iter().map(|row| &*row.label).collect();
    /// assert_eq!(labels, ["aten::permute_copy.out", "aten::addmm.out", "aten::relu.out"]);
    ///
    /// // Of two recordings of a program, times are compared.
    /// let mut both = profile.clone();
    /// both.compare(&profile);
    /// assert_eq!(both.methods[0].executions.compared.unwrap().ratio, Some(1f64));
    ///
    /// let error = Model::open("examples/add.yaml")?.profile(&recording, &[]).unwrap_err();
    /// assert!(error.to_string().contains("the ETDump is of another program"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The program cannot be read, or the recording is of another program, or has no times.
    pub fn profile(&self, recording: &Recording, methods: &[String]) -> Result<TimeProfile, Error> {
        let inspected = Inspected::of(self)?;
        let selection = Selection::new(methods);
        let is_candidate = |_: usize, plan: &ExecutionPlan| selection.has(plan.name.as_deref().unwrap_or_default());
        TimeProfile::new(&inspected.view(), recording.dump(), &is_candidate).map_err(|error| recording.error(error))
    }

    /// Joins the single events of a recording with the instructions of the program, and with the operations of payloads
    /// whose names fit. Methods are selected as by [`Model::profile`].
    ///
    /// The result consists of [`Timeline`](crate::profile::Timeline),
    /// [`TimelineExecution`](crate::profile::TimelineExecution) and
    /// [`TimelineEvent`](crate::profile::TimelineEvent).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::profile::{Recording, Timeline, TimelineEvent, TimelineExecution};
    ///
    /// let recording = Recording::open("crates/pte-etdump/tests/recorded/linear.etdump")?;
    /// let timeline: Timeline = Model::open("examples/linear.yaml")?.timeline(&recording, &[])?;
    /// let first: &TimelineExecution = &timeline.executions[0];
    /// assert_eq!((first.method, first.start, first.events.len()), (0, 0, 3));
    /// assert!(matches!(first.events[2], TimelineEvent::Instruction(_, _, 2)));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The program cannot be read, or the recording is of another program.
    pub fn timeline(&self, recording: &Recording, methods: &[String]) -> Result<Timeline, Error> {
        let inspected = Inspected::of(self)?;
        let selection = Selection::new(methods);
        let is_candidate = |_: usize, plan: &ExecutionPlan| selection.has(plan.name.as_deref().unwrap_or_default());
        Timeline::new(&inspected.view(), recording.dump(), &is_candidate).map_err(|error| recording.error(error))
    }
}
