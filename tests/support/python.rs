//! Python packages that judge our output, in virtual environments of the folder of the conformance tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::root;

/// Python with a package such as `safetensors==0.8.0`, which is installed if it is missing.
///
/// # Panics
/// If the installation fails.
pub fn with_package(package: &str) -> PathBuf {
    let cache = std::env::var_os("PTE_EMIT_CONFORMANCE_DIR").map(PathBuf::from);
    let folder = cache.unwrap_or_else(|| root().join("target/conformance")).join(package.replace("==", "-"));
    let python = folder.join("bin/python");
    let run = |program: &Path, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).status();
        assert!(status.is_ok_and(|status| status.success()), "{} {arguments:?} failed", program.display());
    };
    // An interrupted installation is repeated.
    if !folder.join("installed").exists() {
        run("python3".as_ref(), &["-m", "venv", folder.to_str().unwrap()]);
        run(&python, &["-m", "pip", "--disable-pip-version-check", "install", "--quiet", package]);
        std::fs::write(folder.join("installed"), "").unwrap();
    }
    python
}

/// Output of a script, a path from the root of the repository.
///
/// # Panics
/// If it fails.
pub fn run(python: &Path, script: &str, arguments: &[&str]) -> String {
    let output = Command::new(python).arg(root().join(script)).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
