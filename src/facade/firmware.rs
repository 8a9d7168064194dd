//! Method of [`Model`] that generates the files of firmware projects: it collects the needs of a program for
//! [`pte_deploy::firmware`].

use crate::facade::deploy::EmbeddedFileOptions;
use crate::facade::model::Model;
use pte_deploy::Symbol;
use pte_deploy::embed::Section;
use pte_deploy::firmware::{self, Firmware, FirmwareNeeds, FirmwarePlatform, RUNNER_SYMBOL};
use pte_memory::abi::Abi;
use pte_model::diagnostics::text::first_names;
use pte_model::diagnostics::{Code, Report};
use pte_model::error::Error;
use pte_model::format::Format;
use pte_transform::pattern::Pattern;

pte_model::options! {
    /// Options of [`Model::firmware`].
    ///
    /// ```
    /// use pte_emit::deploy::{FirmwareOptions, FirmwarePlatform};
    ///
    /// let options = FirmwareOptions::new(FirmwarePlatform::Zephyr);
    /// assert!(options.methods.is_empty() && options.section.is_none());
    /// ```
    #[derive(Debug, Clone)]
    pub struct FirmwareOptions {
        /// Platform of the project.
        pub platform: FirmwarePlatform,
        /// Binary interface of the runtime; [`Abi::Arm32`] by default. The sizes of structures in it are those of other
        /// 32-bit processors that align integers of 8 bytes to 8, such as those of Espressif. The files for
        /// [`FirmwarePlatform::Cmake`] are for both.
        pub abi: Abi,
        /// Methods that the firmware loads, one at a time: names or patterns, in which `*` stands for any characters.
        /// If it is empty, the first method of the program, which ExecuTorch's runners run.
        pub methods: Vec<String>,
        /// Name of the array with the program. By default that of ExecuTorch's runners, or one made of the name of the
        /// file for [`FirmwarePlatform::Cmake`].
        pub symbol: Option<Symbol>,
        /// Section of the array; by default that of the platform.
        pub section: Option<Section>,
        /// The program is loaded with `.ptd` files, as of
        /// [`MemoryOptions::external`](crate::memory::MemoryOptions::external).
        pub external: bool,
        /// Path of the program's file, relative to the folder of the generated files, with `/` between its parts.
        /// Without it, the generated files ask for it.
        pub path: Option<String>,
    }
}

impl FirmwareOptions {
    /// Creates options with defaults.
    pub fn new(platform: FirmwarePlatform) -> FirmwareOptions {
        FirmwareOptions {
            platform,
            abi: Abi::Arm32,
            methods: Vec::new(),
            symbol: None,
            section: None,
            external: false,
            path: None,
        }
    }
}

impl Model {
    /// Generates the files of a firmware project: sizes of the memory pools, operators and the place of the program, in
    /// the form that the build system of a platform reads. Writes no file.
    ///
    /// The result consists of [`Firmware`], [`FirmwarePool`](crate::deploy::FirmwarePool),
    /// [`FirmwarePoolPart`](crate::deploy::FirmwarePoolPart) and [`FirmwareFile`](crate::deploy::FirmwareFile).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::deploy::{FirmwareOptions, FirmwarePlatform};
    ///
    /// let add = Model::open("examples/add.yaml")?.firmware(&FirmwareOptions::new(FirmwarePlatform::Zephyr))?;
    /// let pool = &add.pools[0];
    /// assert_eq!(pool.parts.iter().map(|part| part.bytes).sum::<u64>(), pool.bytes);
    /// let conf = add.files.iter().find(|file| file.path == "pte-emit.conf").unwrap();
    /// assert!(conf.text.contains(&format!("CONFIG_EXECUTORCH_METHOD_ALLOCATOR_POOL_SIZE={}\n", pool.bytes)));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, is malformed or is not a program, or the YAML is invalid; a method that the program
    /// does not have; names that the files cannot contain.
    pub fn firmware(&self, options: &FirmwareOptions) -> Result<Firmware, Error> {
        let name = self.name();
        let is_program = match self.is_text() {
            true => self.assembly()?.program_file().is_some(),
            false => self.format()? == Some(Format::Program),
        };
        let files = if is_program { self.embedded_files(&EmbeddedFileOptions::default())? } else { Vec::new() };
        let Some(file) = files.into_iter().next() else {
            let message = "expected a program: a .pte file, or YAML with methods";
            let help = "`strip` writes the program of a .bpte without its tests";
            let diagnostic = Code::UnexpectedInput.whole(message.to_owned()).help(help);
            return Err(Error::new(Report::new(name, "", vec![diagnostic])));
        };
        let sha256 = file.content.digest().map_err(|error| Error::io(name, "", &error))?;
        let (_, program) = self.needs(file.content.len(), options.external)?;
        let all_methods: Vec<&str> = program.methods(options.abi).iter().map(|method| &*method.name).collect();
        let methods = selected(&all_methods, &options.methods).map_err(|missing| {
            let known = first_names(all_methods.iter().copied());
            let message = |pattern: String| {
                Code::UnmetRequest.whole(format!("no method matches `{pattern}`: the program has {known}"))
            };
            Error::new(Report::new(name, "", missing.into_iter().map(message).collect()))
        })?;
        let symbol = options.symbol.clone().unwrap_or_else(|| match options.platform {
            FirmwarePlatform::Cmake => file.symbol.clone(),
            _ => Symbol::from_name(RUNNER_SYMBOL),
        });
        let needs = FirmwareNeeds {
            program: &program,
            methods,
            sha256: data_encoding::HEXLOWER.encode(&sha256),
            alignment: file.alignment,
            path: options.path.clone().filter(|_| !self.is_text()),
            symbol,
            section: options.section.clone(),
            abi: options.abi,
            file: file.name,
        };
        firmware::firmware(&needs, options.platform).map_err(|errors| {
            let diagnostics = errors.iter().map(|error| Code::UnmetRequest.whole(error.to_string()));
            Error::new(Report::new(name, "", diagnostics.collect()))
        })
    }
}

/// Returns the indices of the methods that the patterns select, the first one without patterns; or the patterns that
/// select none.
fn selected(names: &[&str], patterns: &[String]) -> Result<Vec<usize>, Vec<String>> {
    if patterns.is_empty() {
        return Ok((0..names.len().min(1)).collect());
    }
    let matches = |pattern: &String, name: &str| Pattern::new(pattern.as_str()).matches(name);
    let is_unmatched = |pattern: &&String| !names.iter().any(|name| matches(pattern, name));
    let missing: Vec<String> = patterns.iter().filter(is_unmatched).cloned().collect();
    match missing.is_empty() {
        true => Ok((0..names.len())
            .filter(|index| patterns.iter().any(|pattern| matches(pattern, names[*index])))
            .collect()),
        false => Err(missing),
    }
}
