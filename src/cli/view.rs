//! `pte-emit view FILE [FILE_B]`: writes a report to a temporary folder, and opens it in a browser. The page stays: a
//! browser may read it later. The name of the page is that of its source, so that the next one replaces it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use pte_emit::inspect::ReportFormat;
use sha2::{Digest, Sha256};

use super::exit::{Exit, Failure};
use super::io::{Messages, canonical, stem};
use super::outputs::{Outputs, Replaced};
use super::report::ContentArguments;

/// Arguments of `view`.
#[derive(Debug, Args)]
pub struct ViewArguments {
    #[command(flatten)]
    content: ContentArguments,
}

/// Environment variable with the command of a browser; `%s` in it stands for the page, which otherwise is its last
/// argument. Several commands are separated by colons (semicolons on Windows); the first one counts.
const BROWSER: &str = "BROWSER";

/// Time in which an opener that does not work exits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of names of the folder that are tried: other users may have the first ones.
const MAX_FOLDERS: u32 = 64;

/// Runs the command.
///
/// # Errors
/// Those of `report`; a folder or page that cannot be written; a browser that does not start.
pub fn run(arguments: &ViewArguments, messages: &Messages) -> Result<Exit, Failure> {
    let content = &arguments.content;
    let report = content.report(ReportFormat::Html, None, messages)?;
    let temporary = std::env::temp_dir();
    let folder = private_folder(&temporary).map_err(|error| Failure::writing(&shown(&temporary), &error))?;
    let page = folder.join(name(&content.inputs().collect::<Vec<_>>()));
    let mut outputs = Outputs::new("", true);
    outputs.write_text(&page, Replaced::Nothing, &report)?;
    outputs.commit()?;
    open(&page).map_err(|reason| Failure::usage(format!("{reason}; the page is {}", shown(&page))))?;
    messages.summary(&format!("{}\n", shown(&page)));
    Ok(Exit::Ok)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Returns a folder that only this user can read, which is created if there is none.
fn private_folder(temporary: &Path) -> io::Result<PathBuf> {
    for number in 1..=MAX_FOLDERS {
        let folder = temporary.join(format!("pte-emit-view-{number}"));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        if is_private(&folder) {
            return Ok(folder);
        }
    }
    Err(io::Error::other(format!("{MAX_FOLDERS} folders `pte-emit-view-N` belong to other users")))
}

/// Returns true for a folder of this user that others have no access to. A symbolic link is none.
#[cfg(unix)]
fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let Ok(found) = fs::symlink_metadata(folder) else { return false };
    if !found.is_dir() || found.mode() & 0o077 != 0 {
        return false;
    }
    // A new file has the same owner as this process.
    let own = tempfile::tempfile_in(folder).and_then(|file| file.metadata());
    own.is_ok_and(|own| own.uid() == found.uid())
}

/// Returns true for a folder: that of temporary files is private to a user.
#[cfg(not(unix))]
fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())
}

/// Returns the name of the page of some inputs, which their paths determine.
fn name(inputs: &[&Path]) -> String {
    let mut digest = Sha256::new();
    for input in inputs {
        digest.update(canonical(input).as_os_str().as_encoded_bytes());
        digest.update([0]);
    }
    let digits: String = digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let stem = inputs.last().map(|input| stem(input).to_string_lossy().into_owned()).unwrap_or_default();
    let safe = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let stem: String = stem.chars().take(40).map(safe).collect();
    format!("{stem}-{digits}.html")
}

/// Opens a page in a browser.
///
/// # Errors
/// The reason why none was started.
fn open(page: &Path) -> Result<(), String> {
    let browser = std::env::var(BROWSER).ok();
    let separator = if cfg!(windows) { ';' } else { ':' };
    let commands = browser.as_deref().unwrap_or_default().split(separator);
    let browser = commands.map(str::trim).find(|command| !command.is_empty());
    let mut command = match browser {
        Some(command) => browser_command(command, page),
        None => system_opener(page),
    };
    let program = command.get_program().to_string_lossy().into_owned();
    let advice = format!("set `{BROWSER}` to the command of a browser");
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("no browser: the command `{program}` is not installed; {advice}"),
        _ => format!("cannot start `{program}`: {error}; {advice}"),
    })?;
    match failure(child) {
        Some(status) => Err(format!("`{program}` did not open the page: {status}; {advice}")),
        None => Ok(()),
    }
}

/// Returns the command of a browser with the page as argument.
fn browser_command(command: &str, page: &Path) -> Command {
    let mut words = command.split_whitespace();
    let mut found = Command::new(words.next().unwrap_or_default());
    let mut has_page = false;
    for word in words {
        match word.split_once("%s") {
            Some((before, after)) => {
                has_page = true;
                let mut argument = OsString::from(before);
                argument.push(page);
                argument.push(after);
                found.arg(argument);
            }
            None => _ = found.arg(word),
        }
    }
    if !has_page {
        found.arg(page);
    }
    found
}

/// Returns the command of the system that opens a file.
fn system_opener(page: &Path) -> Command {
    let (program, arguments): (&str, &[&str]) = match () {
        () if cfg!(target_os = "macos") => ("open", &[]),
        // `start` is a command of the shell; its first quoted argument is a title.
        () if cfg!(windows) => ("cmd", &["/C", "start", ""]),
        () => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(page);
    command
}

/// Waits a short time for an opener to fail; a browser that keeps running is not waited for.
fn failure(mut child: Child) -> Option<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return None,
            Ok(Some(status)) => return Some(status.to_string()),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_browsers_have_the_page_where_they_say() {
        let words = |command: &str| {
            let command = browser_command(command, Path::new("/t/a b.html"));
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words("firefox"), ["firefox", "/t/a b.html"]);
        assert_eq!(words("chromium --app=file://%s"), ["chromium", "--app=file:///t/a b.html"]);
    }

    #[test]
    fn the_name_of_a_page_follows_from_its_inputs() {
        let of = |paths: &[&str]| name(&paths.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(of(&["m.pte"]), of(&["m.pte"]));
        assert_ne!(of(&["m.pte"]), of(&["m.pte", "n.pte"]));
        assert!(of(&["x/../<i>.pte"]).starts_with("_i_-"));
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_private_and_stays() {
        use std::os::unix::fs::{MetadataExt, symlink};

        let temporary = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        symlink(other.path(), temporary.path().join("pte-emit-view-1")).unwrap();
        let folder = private_folder(temporary.path()).unwrap();
        assert_eq!(folder, temporary.path().join("pte-emit-view-2"));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(private_folder(temporary.path()).unwrap(), folder);
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(private_folder(temporary.path()).unwrap(), temporary.path().join("pte-emit-view-3"));
    }
}
