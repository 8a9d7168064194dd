//! Options of an analysis.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pte_check::target::Target;
use pte_releases::Release;

pte_model::options! {
    /// Options of [`Analysis::new`].
    ///
    /// ```
    /// use pte_emit::language::LanguageOptions;
    ///
    /// assert!(LanguageOptions::default().hint_types && !LanguageOptions::default().hint_memory);
    /// ```
    #[derive(Debug, Clone)]
    pub struct LanguageOptions {
        /// Values of variables (`${NAME}`).
        pub definitions: BTreeMap<String, String>,
        /// Release of ExecuTorch that programs are compared with.
        pub runtime: Option<Release>,
        /// Targets that programs are compared with.
        pub targets: Vec<Target>,
        /// Folder that contains all files that the text may refer to; `None` for any file.
        pub confined_to: Option<PathBuf>,
        /// Show inferred types of results.
        pub hint_types: bool,
        /// Show names of literal arguments.
        pub hint_arguments: bool,
        /// Show offsets and sizes in planned memory.
        pub hint_memory: bool,
    }
}

impl Default for LanguageOptions {
    fn default() -> LanguageOptions {
        LanguageOptions {
            definitions: BTreeMap::new(),
            runtime: None,
            targets: Vec::new(),
            confined_to: None,
            hint_types: true,
            hint_arguments: true,
            hint_memory: false,
        }
    }
}
