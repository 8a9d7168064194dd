//! One test per malformed example: the real runtime answers as in its first line. `BLESS=1 cargo lab --test cases
//! malformed:: -- --ignored` writes the answers there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libtest_mimic::Trial;
use pte_emit::program::test_cases::TestData;
use pte_emit::program::{EValue, ExecutionPlan};
use pte_model::data::Blob;

use crate::support::case::Case;
use crate::support::malformed::{self, FirstLine, MODES};
use crate::support::runner::{self, Mode};
use crate::support::{files, snapshot, sources, trial};

/// The cases, by name.
pub fn trials() -> Vec<Trial> {
    let first = |case: &Case| FirstLine::read(case.name(), &fs::read_to_string(&case.input).unwrap());
    let cases = malformed::cases().into_iter().filter(|case| first(case).answers.is_some());
    let test = |case: Case| {
        let name = format!("{}/in_the_real_runtime", case.name());
        trial(name, move || in_the_real_runtime(&case)).with_ignored_flag(true)
    };
    cases.map(test).collect()
}

/// Options of the runner for the loading modes of the first line.
const RUNS: [Mode; 2] = [Mode { verify: "full", loader: "file" }, Mode { verify: "minimal", loader: "file" }];

static RUNNER: LazyLock<PathBuf> = LazyLock::new(runner::locate);

/// The first of these tests downloads the runtime from a package index.
fn in_the_real_runtime(case: &Case) {
    let text = fs::read_to_string(&case.input).unwrap();
    let FirstLine { rule, defect, answers } = FirstLine::read(case.name(), &text);
    let expected = answers.as_ref().expect("a .pte has answers");
    let folder = tempfile::tempdir().unwrap();
    let assembly = sources::assembly(case.name(), &text, case.input.parent().unwrap());
    let (pte, ptds) = files::write(&assembly, folder.path()).unwrap();
    let plans = assembly.program().plans();
    let answer = |mode| answer(&RUNNER, &pte, &ptds, mode, plans).unwrap_or_else(|error| panic!("{error}"));
    if snapshot::blessing() {
        let mut answers = RUNS.iter().zip(expected).map(|(mode, expected)| {
            // Answers that depend on uninitialized memory are not deterministic.
            let found: BTreeSet<String> = (0..5).map(|_| answer(*mode)).collect();
            let known: BTreeSet<&str> = expected.split(" or ").collect();
            match found.iter().all(|answer| known.contains(answer.as_str())) {
                true => expected.clone(),
                false => found.into_iter().collect::<Vec<_>>().join(" or "),
            }
        });
        let (verified, unverified) = (answers.next().unwrap(), answers.next().unwrap());
        let (_, rest) = text.split_once('\n').unwrap();
        let text = format!("# {rule} | {defect} | verified: {verified} | unverified: {unverified}\n{rest}");
        return fs::write(&case.input, text).unwrap();
    }
    for ((level, mode), expected) in MODES.into_iter().zip(RUNS).zip(expected) {
        let found = answer(mode);
        assert!(
            expected.split(" or ").any(|answer| answer == found),
            "{level}: `{found}`, expected `{expected}` (first line)"
        );
    }
}

/// First error of the runtime when all methods that it lists (by default those of the source) are loaded and executed.
/// Inputs are those of the program before the overrides; tensors are zeros.
fn answer(runner: &Path, pte: &Path, ptds: &[PathBuf], mode: Mode, plans: &[ExecutionPlan]) -> Result<String, String> {
    let ask = |script: &str| -> Result<Option<Vec<String>>, String> {
        let ended = runner::start(runner, pte, ptds, mode, script)?;
        Ok(if ended.status.signal().is_some() { None } else { Some(ended.answers) })
    };
    let Some(answers) = ask("methods\n")? else { return Ok("crashes".into()) };
    if let Some(error) = answers.iter().find_map(|answer| error(answer)) {
        return Ok(error);
    }
    let listed =
        answers.get(1).and_then(|answer| answer.strip_prefix("methods")).ok_or("the runner lists no methods")?;
    let mut names: Vec<String> = listed.split_whitespace().map(str::to_owned).collect();
    if names.is_empty() {
        // The overrides may have removed the names.
        names = plans.iter().map(|plan| runner::quote(plan.name.as_deref().unwrap_or_default())).collect();
    }
    for (number, name) in names.iter().enumerate() {
        let mut script = format!("load {name}\n");
        for (number, value) in plans.get(number).into_iter().flat_map(method_inputs).enumerate() {
            let value = runner::spell(&value).map_err(|error| error.to_string())?;
            script += &format!("input {number} {value}\n");
        }
        script += "execute\n";
        let Some(answers) = ask(&script)? else { return Ok("crashes".into()) };
        // A rejected input is reported by `execute`.
        let steps = answers.iter().filter(|answer| !answer.starts_with("input "));
        if let Some(error) = steps.filter_map(|answer| error(answer)).next() {
            return Ok(error);
        }
        if answers.last().is_none_or(|answer| answer != "execute ok") {
            return Err(format!("the runner ends with `{answers:?}`"));
        }
    }
    Ok("accepts".into())
}

/// `load error 0x23 InvalidProgram` -> `load InvalidProgram`.
fn error(answer: &str) -> Option<String> {
    match answer.split(' ').collect::<Vec<_>>()[..] {
        [step, "error", _, name] => Some(format!("{step} {name}")),
        _ => None,
    }
}

/// Value for each input; None for kinds without a zero.
fn method_inputs(plan: &ExecutionPlan) -> Vec<TestData> {
    let values = plan.inputs.iter().flatten();
    values.map(|id| plan.value(*id).and_then(zero).unwrap_or(TestData::Null)).collect()
}

fn zero(value: &EValue) -> Option<TestData> {
    Some(match value {
        EValue::Null => TestData::Null,
        EValue::Int(n) => TestData::Int(*n),
        EValue::Double(x) => TestData::Double(*x),
        EValue::Bool(b) => TestData::Bool(*b),
        EValue::Tensor(tensor) => {
            let (sizes, dim_order) = (tensor.sizes.as_ref()?.to_vec(), tensor.dim_order.clone()?);
            let mut bytes = tensor.scalar_type.info()?.size as usize;
            for size in &sizes {
                bytes = bytes.checked_mul(usize::try_from(*size).ok()?).filter(|bytes| *bytes <= 1 << 20)?;
            }
            let data = Blob::bytes(vec![0; bytes]);
            TestData::Tensor { scalar_type: tensor.scalar_type, sizes, dim_order, data }
        }
        _ => return None,
    })
}
