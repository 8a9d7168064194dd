//! Runners in the user's cache folder: built once by the C++ compiler of the machine, from the source in this crate and
//! the headers and libraries of ExecuTorch's Python package. Torch is not needed, and nothing is installed elsewhere.
//!
//! Other runtimes are not built here: docs/runners.md has the protocol and a runner to start with.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pte_model::diagnostics::text::clipped;

use crate::command::RunnerCommand;
use crate::log::Tail;

/// First release whose package has libraries to link.
pub const FIRST: &str = "1.5.0";

/// Release whose runner is installed and found by default.
pub const RELEASE: &str = "1.5.1";

/// Source of the runner.
const SOURCE: &str = include_str!("runner.cpp");

/// Libraries that the runner is linked with. Those of kernels and backends register themselves when they are loaded.
const LIBRARIES: [&str; 6] = [
    "executorch",
    "executorch_kernels_optimized",
    "executorch_kernels_quantized",
    "executorch_backend_xnnpack",
    "executorch_threadpool",
    "executorch_etdump",
];

pte_model::options! {
    /// What [`RunnerFolder::install`] installs, and from where.
    #[derive(Debug, Clone)]
    pub struct InstallOptions {
        /// Release of ExecuTorch; of the packages, at least [`FIRST`].
        pub release: String,
        /// Wheel of ExecuTorch's Python package, or a folder: the unpacked wheel, or one with `include` and `lib`. By
        /// default the package is found in Python, or downloaded by pip.
        pub from: Option<PathBuf>,
        /// Name or path of the C++ compiler; by default the first of `c++`, `g++` and `clang++` that is there.
        pub compiler: Option<OsString>,
        /// Name or path of a Python 3 with pip; by default `python3` or `python`.
        pub python: Option<OsString>,
    }
}

impl Default for InstallOptions {
    fn default() -> InstallOptions {
        InstallOptions { release: RELEASE.to_owned(), from: None, compiler: None, python: None }
    }
}

/// Failure of an installation: what was tried, what is missing, and what to do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InstallError {
    /// What failed.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Last lines that the failed command printed.
    pub log: Vec<String>,
}

impl InstallError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> InstallError {
        InstallError { message: message.into(), help: Some(help.into()), log: Vec::new() }
    }
}

/// Formats the message, and the last line of the log.
impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.log.last().map_or(Ok(()), |line| write!(f, "; its output ends with `{line}`"))
    }
}

impl std::error::Error for InstallError {}

/// A runner that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledRunner {
    /// Release of ExecuTorch.
    pub release: String,
    /// Path of the program.
    pub path: PathBuf,
}

impl InstalledRunner {
    /// Returns its command.
    pub fn command(&self) -> RunnerCommand {
        RunnerCommand::new(&self.path)
    }
}

/// Folder of installed runners: a folder for each release, with the program and the libraries of the runtime.
///
/// ```
/// use pte_run::install::{InstallError, InstallOptions, InstalledRunner, RELEASE, RunnerFolder};
///
/// let empty = tempfile::tempdir().unwrap();
/// let folder = RunnerFolder::new(empty.path());
/// let installed: Vec<InstalledRunner> = folder.installed();
/// assert!(installed.is_empty() && folder.find(RELEASE).map(|runner| runner.command()).is_none());
/// assert!(!folder.remove(RELEASE).unwrap());
///
/// // A folder without libraries.
/// let options = InstallOptions::default().from(empty.path().to_owned());
/// let error: InstallError = folder.install(&options, &mut |_| (), &|_| Ok(())).unwrap_err();
/// assert!(error.to_string().contains("libexecutorch"), "{error}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerFolder(PathBuf);

impl RunnerFolder {
    /// Returns a folder, which may not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> RunnerFolder {
        RunnerFolder(path.into())
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the installed runners by the names of their releases.
    pub fn installed(&self) -> Vec<InstalledRunner> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names.iter().filter_map(|name| self.find(name)).collect()
    }

    /// Returns the runner of a release.
    pub fn find(&self, release: &str) -> Option<InstalledRunner> {
        let path = self.folder(release)?.join("runner");
        path.is_file().then(|| InstalledRunner { release: release.to_owned(), path })
    }

    /// Removes the runner of a release; returns `false` if there is none.
    ///
    /// # Errors
    /// Files that cannot be removed.
    pub fn remove(&self, release: &str) -> io::Result<bool> {
        match self.find(release).and_then(|_| self.folder(release)) {
            Some(folder) => fs::remove_dir_all(folder).map(|()| true),
            None => Ok(false),
        }
    }

    /// Installs the runner of a release in place of an installed one. `report` gets a line for each step; `check` tries
    /// the new runner, which is kept only if it succeeds.
    ///
    /// # Errors
    /// What is missing: a package for this system, Python, pip, a network, a C++ compiler, headers, libraries. Nothing
    /// is left of an installation that fails.
    pub fn install(
        &self,
        options: &InstallOptions,
        report: &mut dyn FnMut(&str),
        check: &dyn Fn(&RunnerCommand) -> Result<(), String>,
    ) -> Result<InstalledRunner, InstallError> {
        let InstallOptions { release, from, compiler, python } = options;
        let Some(folder) = self.folder(release) else {
            return Err(InstallError::new(
                format!("`{}` is no release", clipped(release)),
                "a release has three numbers, such as 1.5.1",
            ));
        };
        let numbers = |text: &str| text.split('.').map_while(|part| part.parse().ok()).collect::<Vec<u64>>();
        if from.is_none() && numbers(release) < numbers(FIRST) {
            return Err(InstallError::new(
                format!("the package of ExecuTorch {release} has no libraries to link: those since {FIRST} have"),
                "name a folder with `include` and `lib` of this release by `--package`",
            ));
        }
        let compiler = self::compiler(compiler.as_deref())?;
        let new = Staging::new(&self.0)?;
        let tree = match from {
            None => package(release, &self::python(python.as_deref())?, &new.0, report)?,
            Some(path) if path.is_dir() => path.clone(),
            Some(path) => unpacked(path, &self::python(python.as_deref())?, &new.0, report)?,
        };
        let (include, libraries) = parts(&tree, release)?;
        let target = new.0.join("new");
        copy_libraries(&libraries, &target.join("lib"))?;
        report("compiling the runner");
        let source = new.0.join("runner.cpp");
        fs::write(&source, SOURCE).map_err(|error| unwritable(&source, &error))?;
        let mut command = Command::new(&compiler);
        command.args(["-std=c++17", "-O1", "-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_EVENT_TRACER_ENABLED"]);
        command.args(["-DET_USE_THREADPOOL", "-isystem"]).arg(&include).arg("-isystem");
        command.arg(include.join("executorch/runtime/core/portable_type/c10")).arg(&source).arg("-o");
        command.arg(target.join("runner")).arg("-L").arg(target.join("lib"));
        let own = if cfg!(target_os = "macos") { "@loader_path/lib" } else { "$ORIGIN/lib" };
        if !cfg!(target_os = "macos") {
            command.arg("-Wl,--no-as-needed");
        }
        command.args(LIBRARIES.map(|name| format!("-l{name}"))).arg(format!("-Wl,-rpath,{own}"));
        run(command, "the C++ compiler", || "the runner needs C++17 and the headers of the release".to_owned())?;
        report("running a program in it");
        check(&RunnerCommand::new(target.join("runner"))).map_err(|found| {
            InstallError::new(format!("the new runner does not run a program: {found}"), "it is removed again")
        })?;
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        }
        // Another process may have installed the same.
        match fs::rename(&target, &folder) {
            Err(error) if self.find(release).is_none() => Err(unwritable(&folder, &error)),
            Ok(()) | Err(_) => Ok(InstalledRunner { release: release.clone(), path: folder.join("runner") }),
        }
    }

    /// Returns the folder of a release; `None` for a name that is none.
    fn folder(&self, release: &str) -> Option<PathBuf> {
        let is_release = release.starts_with(|c: char| c.is_ascii_digit())
            && release.matches('.').count() == 2
            && release.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        is_release.then(|| self.0.join(release))
    }
}

/// A folder that is removed again.
struct Staging(PathBuf);

impl Staging {
    fn new(parent: &Path) -> Result<Staging, InstallError> {
        let path = parent.join(format!(".new-{}", std::process::id()));
        let created = fs::create_dir_all(parent).and_then(|()| fs::create_dir(&path));
        created.map(|()| Staging(path.clone())).map_err(|error| unwritable(&path, &error))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn unwritable(path: &Path, error: &io::Error) -> InstallError {
    let message = format!("cannot write {}: {error}", path.display());
    InstallError::new(message, "PTE_EMIT_CACHE names another folder for runners")
}

/// Returns the C++ compiler: the named one, or the first that is there.
fn compiler(named: Option<&OsStr>) -> Result<PathBuf, InstallError> {
    let names = candidates(named, &["c++", "g++", "clang++"]);
    answering(&names, &["--version"]).ok_or_else(|| {
        let tried: Vec<String> = names.iter().map(|name| format!("`{}`", clipped(&name.to_string_lossy()))).collect();
        let install = if cfg!(target_os = "macos") { "xcode-select --install" } else { "apt-get install g++" };
        InstallError::new(
            format!("there is no C++ compiler: tried {}", tried.join(", ")),
            format!("install one, for example by `{install}`, or name it by the variable CXX"),
        )
    })
}

/// Returns the names of a command to try: the given one, or the usual ones.
fn candidates<'n>(named: Option<&'n OsStr>, usual: &'n [&'n str]) -> Vec<&'n OsStr> {
    named.map_or_else(|| usual.iter().map(OsStr::new).collect(), |name| vec![name])
}

/// Returns the first command that ends with status 0 with these arguments.
fn answering(names: &[&OsStr], arguments: &[&str]) -> Option<PathBuf> {
    let answers = |name: &&&OsStr| {
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    names.iter().find(answers).map(PathBuf::from)
}

/// Runs a command, whose output is read only for its error.
fn run(mut command: Command, what: &str, help: impl FnOnce() -> String) -> Result<String, InstallError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|error| {
        InstallError::new(format!("cannot start {what} (`{}`): {error}", clipped(&name)), "install it")
    })?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
    }
    let mut log = Tail::default();
    log.push(&done.stderr);
    let message = format!("{what} (`{}`) failed: {}", clipped(&name), done.status);
    Err(InstallError { message, help: Some(help()), log: log.lines() })
}

/// Returns the folder of ExecuTorch's package: that of the Python that is found first, if it has the release, or a
/// downloaded one.
fn package(release: &str, python: &Path, folder: &Path, report: &mut dyn FnMut(&str)) -> Result<PathBuf, InstallError> {
    let script = "import importlib.metadata as m, importlib.util as u
print(m.version('executorch')); print(list(u.find_spec('executorch').submodule_search_locations)[0])";
    let mut command = Command::new(python);
    command.args(["-c", script]);
    if let Ok(found) = run(command, "python", String::new)
        && let Some((version, path)) = found.split_once('\n')
        && version == release
        && Path::new(path).join("lib").is_dir()
    {
        report(&format!("taking the package executorch {release} of {}", python.display()));
        return Ok(PathBuf::from(path));
    }
    report(&format!("downloading the package executorch {release}"));
    let mut command = Command::new(python);
    command.args([
        "-m",
        "pip",
        "--disable-pip-version-check",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
    ]);
    command.arg(folder);
    // The libraries are the same for each version of Python.
    if let Some(platform) = platform() {
        command.args(["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--platform", platform]);
    }
    command.arg(format!("executorch=={release}"));
    run(command, "pip", || {
        format!(
            "`pip download --no-deps executorch=={release}` on a machine with a network gives a wheel, which `--package` \
             takes; there are wheels with libraries for Linux on x86-64 and aarch64"
        )
    })?;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut wheels = entries.map(|entry| entry.path()).filter(|path| path.extension() == Some(OsStr::new("whl")));
    let wheel = wheels.next().ok_or_else(|| InstallError::new("pip downloaded no wheel", "name one by `--package`"))?;
    unpacked(&wheel, python, folder, report)
}

/// Platform of the wheels for this machine; `None` leaves it to pip.
fn platform() -> Option<&'static str> {
    match (cfg!(target_os = "linux"), cfg!(target_arch = "x86_64"), cfg!(target_arch = "aarch64")) {
        (true, true, _) => Some("manylinux_2_28_x86_64"),
        (true, _, true) => Some("manylinux_2_28_aarch64"),
        _ => None,
    }
}

/// Unpacks a wheel.
fn unpacked(wheel: &Path, python: &Path, folder: &Path, report: &mut dyn FnMut(&str)) -> Result<PathBuf, InstallError> {
    report("unpacking it");
    let tree = folder.join("tree");
    let mut command = Command::new(python);
    command.args(["-m", "zipfile", "-e"]).arg(wheel).arg(&tree);
    run(command, "python", || format!("{} is no wheel", clipped(&wheel.display().to_string())))?;
    Ok(tree)
}

fn python(named: Option<&OsStr>) -> Result<PathBuf, InstallError> {
    answering(&candidates(named, &["python3", "python"]), &["-c", "import zipfile"]).ok_or_else(|| {
        InstallError::new(
            "there is no Python 3, which downloads and unpacks ExecuTorch's package",
            "install it, name it by the variable PTE_EMIT_PYTHON, or name an unpacked package by `--package FOLDER`",
        )
    })
}

/// Returns the folders of headers and libraries of a tree.
fn parts(tree: &Path, release: &str) -> Result<(PathBuf, PathBuf), InstallError> {
    let bases = [tree.join("executorch"), tree.to_owned()];
    let base = bases.iter().find(|base| library_file(&base.join("lib"), LIBRARIES[0]).is_some());
    let missing = |what: &str| {
        InstallError::new(
            format!("the package of ExecuTorch {release} has {what}"),
            "the packages have libraries to link since 1.5.0; docs/runners.md says how another runtime is linked",
        )
    };
    let base = base.ok_or_else(|| missing("no shared library `lib/libexecutorch`"))?;
    let include = base.join("include");
    match include.join("executorch/runtime/executor/program.h").is_file() {
        true => Ok((include, base.join("lib"))),
        false => Err(missing("no header `include/executorch/runtime/executor/program.h`")),
    }
}

fn library_file(folder: &Path, name: &str) -> Option<PathBuf> {
    ["so", "dylib"].iter().map(|extension| folder.join(format!("lib{name}.{extension}"))).find(|path| path.is_file())
}

/// Copies the libraries, so that the package may be removed.
fn copy_libraries(from: &Path, to: &Path) -> Result<(), InstallError> {
    fs::create_dir_all(to).map_err(|error| unwritable(to, &error))?;
    for name in LIBRARIES {
        let Some(path) = library_file(from, name) else {
            return Err(InstallError::new(
                format!("{}: no shared library `lib{name}`", clipped(&from.display().to_string())),
                "the runner records and runs XNNPACK, for which it needs all libraries of the package",
            ));
        };
        let target = to.join(path.file_name().unwrap_or_default());
        fs::copy(&path, &target).map_err(|error| unwritable(&target, &error))?;
    }
    Ok(())
}
