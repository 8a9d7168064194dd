//! `.ptd` files of `.safetensors` with metadata, in the real runtime.

use crate::support::runner::{self, Mode};
use crate::support::safetensors::program_with_data;

#[test]
#[ignore = "downloads ExecuTorch's runtime"]
fn the_runtime_merges_files_with_metadata() {
    let folder = program_with_data();
    let path = |name: &str| folder.path().join(name);
    for loader in ["file", "mmap", "buffer"] {
        let mode = Mode { verify: "full", loader };
        let script = "load forward\nexecute\noutputs\n";
        let answers =
            runner::run(&runner::locate(), &path("m.pte"), &[path("one.ptd"), path("two.ptd")], mode, script).unwrap();
        assert!(answers.iter().any(|answer| answer == "execute ok"), "{loader}: {answers:?}");
    }
}
