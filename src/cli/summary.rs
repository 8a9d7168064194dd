//! Summary of written files: bytes, segments, values, instructions, planned memory, bytes saved by deduplication.

use std::fmt::Write;
use std::path::Path;

use pte_emit::command::text::{counted, escaped, first_names};
use pte_emit::program::ExecutionPlan;
use pte_emit::{Assembly, edit::PrunedParts};

use super::formats::OutputContent;

/// Summary of an assembly and its files, one line for each file and method. `counts_shared` is `false` if the bytes
/// that equal data save say nothing about the input, as for an edited program.
pub fn of<'a>(
    assembly: &Assembly,
    files: impl Iterator<Item = (Option<&'a Path>, &'a OutputContent<'a>)>,
    counts_shared: bool,
) -> String {
    let mut out = String::new();
    for (target, file) in files {
        let name = target.map_or("<stdout>".into(), |target| escaped(&target.display().to_string()).into_owned());
        let _ = write!(out, "{name}: {}", bytes(file.size));
        if let Some((count, placement)) =
            file.segments.as_ref().filter(|(_, placement)| placement.segment_data_size > 0)
        {
            let data = bytes(placement.segment_data_size);
            let _ =
                write!(out, "; {} with {data} from byte {}", counted(*count, "segment"), placement.segment_base_offset);
        }
        out.push('\n');
    }
    let plans = assembly.program().plans();
    for (plan, memory) in plans.iter().zip(&assembly.plan().memory) {
        let name = escaped(plan.name.as_deref().unwrap_or("(no name)"));
        let instructions = counted(instructions(plan), "instruction");
        let _ = write!(out, "  {name}: {}, {instructions}", counted(plan.values().len(), "value"));
        let used = memory.total();
        if used > 0 {
            let pools = memory.sizes.iter().skip(1).map(i64::to_string).collect::<Vec<_>>().join(" + ");
            let _ = write!(out, ", memory {pools} bytes for tensors of {}", bytes(memory.unshared));
        }
        out.push('\n');
    }
    for (plan, pruned) in plans.iter().zip(assembly.pruned()) {
        let PrunedParts { instructions, values, operators, delegates, names, .. } = pruned;
        let removed =
            [(*instructions, "instruction"), (*values, "value"), (*operators, "operator"), (*delegates, "delegate")];
        let removed = removed.iter().filter(|(count, _)| *count > 0);
        let mut removed: Vec<String> = removed.map(|(count, noun)| counted(*count, noun)).collect();
        if !names.is_empty() {
            removed.push(format!("among them {}", first_names(names.iter().map(String::as_str))));
        }
        if !removed.is_empty() {
            let name = escaped(plan.name.as_deref().unwrap_or("(no name)"));
            let _ = writeln!(out, "  {name}: removed {}", removed.join(", "));
        }
    }
    if let Some(written) = assembly.written_for() {
        let changes = written.changes();
        let changes = if changes.is_empty() { "no changes".to_owned() } else { changes.join(", ") };
        let _ = writeln!(out, "  for ExecuTorch {}: {changes}", written.release);
    }
    if counts_shared && assembly.plan().shared_bytes > 0 {
        let _ = writeln!(out, "  equal data stored once: {} saved", bytes(assembly.plan().shared_bytes));
    }
    out
}

fn instructions(plan: &ExecutionPlan) -> usize {
    plan.instructions().count()
}

fn bytes(count: u64) -> String {
    counted(count, "byte")
}
