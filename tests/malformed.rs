//! The cookbook of malformed files: every text of examples/malformed has one defect, `check` finds it by the rule that the text's
//! first line names, no command panics over what comes of it, and the real runtime answers as the first line says
//! (`BLESS=1 cargo test --test malformed -- --ignored` writes its answers there).
//!
//! Not here: what each rule looks for; see tests/check.rs, which has a file for every one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use pte_emit::check::{self, DataFile, Findings, Options, Severity, rules};
use pte_emit::data::Blob;
use pte_emit::data::Origin;
use pte_emit::ir::tree::{self, Tree};
use pte_emit::printer::{self, LargeData, PrintOptions};
use pte_emit::program::test_cases::TestData;
use pte_emit::program::{EValue, ExecutionPlan};
use pte_emit::{Assembly, Options as AssembleOptions, Source, assemble};

#[path = "../src/golden.rs"]
mod golden;

#[path = "support/files.rs"]
mod files;
#[path = "support/folder.rs"]
#[allow(dead_code, reason = "of a folder only some means are needed here")]
mod folder;
#[path = "support/runner.rs"]
#[allow(dead_code, reason = "what outputs are is of no interest here")]
mod runner;

use folder::Folder;
use runner::Mode;

/// How the runtime loads a file: the words of the first line, and what the runner calls them.
const MODES: [(&str, Mode); 2] =
    [("verified", Mode { verify: "full", loader: "file" }), ("unverified", Mode { verify: "minimal", loader: "file" })];

fn cookbook() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/malformed")
}

/// A text of the cookbook.
struct Recipe {
    name: String,
    text: String,
    /// The first line: the rule, what is wrong, and the runtime's answers, in the order of `MODES`; none of a `.bpte`.
    rule: String,
    words: String,
    answers: Option<[String; 2]>,
}

fn recipes() -> Vec<Recipe> {
    let mut paths: Vec<PathBuf> = fs::read_dir(cookbook()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| recipe(path)).collect()
}

fn recipe(path: &Path) -> Recipe {
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let first = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
    let (rule, words, answers) = match first.split(" | ").collect::<Vec<_>>()[..] {
        [rule, words, "runtime: not run"] => (rule, words, None),
        [rule, words, verified, unverified] => {
            let answer = |(part, (mode, _)): (&str, (&str, Mode))| {
                let answer = part.strip_prefix(mode).and_then(|part| part.strip_prefix(": "));
                answer.unwrap_or_else(|| panic!("{name}: `{part}` is no answer")).to_owned()
            };
            let [first, second] = MODES;
            (rule, words, Some([answer((verified, first)), answer((unverified, second))]))
        }
        _ => panic!("{name}: the first line is `# RULE | words | verified: ANSWER | unverified: ANSWER`"),
    };
    Recipe { rule: rule.to_owned(), words: words.to_owned(), answers, name, text }
}

impl Recipe {
    fn assemble(&self) -> Assembly {
        let input = Source::yaml(&self.name, &self.text, &cookbook());
        assemble(&input, &AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Whether it is about the bundle around a program.
    fn is_bundle(&self) -> bool {
        self.answers.is_none()
    }

    /// The files it becomes, by the names they are given here.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let assembly = self.assemble();
        if self.is_bundle() {
            let bundled = assembly.bundled().unwrap();
            return vec![("model.bpte".into(), bundled.file(&[], &[]).to_vec().unwrap())];
        }
        let program = assembly.program_file().unwrap().to_vec().unwrap();
        let data = assembly.data_files().enumerate();
        let data = data.map(|(number, (_, file))| (format!("{number}.ptd"), file.to_vec().unwrap()));
        std::iter::once(("model.pte".to_owned(), program)).chain(data).collect()
    }
}

/// What `check` has against these files: the program with its data, then each of the data.
fn judge(files: &[(String, Vec<u8>)]) -> Vec<Findings> {
    let origin = |bytes: &[u8]| Origin::Bytes(bytes.into());
    let with: Vec<DataFile> =
        files[1..].iter().map(|(name, bytes)| DataFile::open(name, &origin(bytes)).unwrap()).collect();
    let mut findings: Vec<Findings> = with.iter().map(|file| file.check(&Options::default())).collect();
    let options = Options { with, ..Options::default() };
    let (name, bytes) = &files[0];
    findings.push(match name.as_str() {
        // Without its identifier only its name makes a file a .bpte.
        "model.bpte" => check::bundled_program(bytes, &options),
        _ => check::file(&origin(bytes), &options).unwrap(),
    });
    findings
}

#[test]
fn every_text_says_what_is_wrong_with_it() {
    let recipes = recipes();
    assert!(recipes.len() >= 60, "{} texts", recipes.len());
    let mut wrong = Vec::new();
    let mut defects = BTreeSet::new();
    for recipe in &recipes {
        let Recipe { name, text, rule, words, answers } = recipe;
        let mut complain = |what: String| wrong.push(format!("{name}: {what}"));
        if !defects.insert((rule, words)) {
            complain(format!("another text has this defect: {rule}, {words}"));
        }
        if rules::find(rule).is_none() {
            complain(format!("there is no rule {rule}"));
        }
        if !text.is_ascii() || !text.ends_with('\n') || text.contains(" \n") || text.len() > 2000 {
            complain("it is no short and plain text".into());
        }
        if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            complain("the name is no lower-case words between underscores".into());
        }
        for answer in answers.iter().flatten().flat_map(|answers| answers.split(" or ")) {
            let known = match answer.split_once(' ') {
                None => ["accepts", "crashes"].contains(&answer),
                Some((step, error)) => {
                    ["program", "methods", "load", "execute"].contains(&step)
                        && error.bytes().all(|byte| byte.is_ascii_alphanumeric())
                }
            };
            if !known {
                complain(format!("`{answer}` is no answer"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn check_finds_what_is_wrong_by_the_rule_that_the_text_names() {
    let mut wrong = Vec::new();
    for recipe in recipes() {
        let findings = judge(&recipe.files());
        let found: BTreeSet<&str> = findings.iter().flat_map(Findings::list).map(|finding| finding.rule.id).collect();
        if !found.contains(recipe.rule.as_str()) {
            wrong.push(format!("{}: {} is not found, but {found:?}", recipe.name, recipe.rule));
        }
        let loud = findings.iter().flat_map(Findings::list).any(|finding| finding.rule.severity < Severity::Note);
        let accepted = recipe.answers.as_ref().is_some_and(|answers| answers.iter().all(|answer| answer == "accepts"));
        if !loud && !accepted {
            wrong
                .push(format!("{}: the runtime does not accept it, but nothing is an error or a warning", recipe.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Prints which errors have no text; not each can have one.
#[test]
fn rules_without_a_text_are_known() {
    let recipes = recipes();
    let covered: BTreeSet<&str> = recipes.iter().map(|recipe| recipe.rule.as_str()).collect();
    let errors = rules::RULES.iter().filter(|rule| rule.severity <= Severity::Invalid);
    let missing: Vec<&str> = errors.map(|rule| rule.id).filter(|id| !covered.contains(id)).collect();
    println!("{} texts, {} rules; errors without a text: {}", recipes.len(), covered.len(), missing.join(" "));
}

#[test]
fn texts_mean_the_same_to_another_parser() {
    for Recipe { name, text, .. } in recipes() {
        let ours = tree::parse(&text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let theirs: Tree<'_> = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("{ours:#?}"), format!("{:#?}", theirs.0), "{name}");
    }
}

/// Runs the command, which may refuse, but must not panic.
fn ends_well(folder: &Folder, arguments: &[&str], name: &str, wrong: &mut Vec<String>) -> folder::Done {
    let done = folder.run(arguments);
    if !matches!(done.code, Some(0..=3)) {
        wrong.push(format!("{name}: pte-emit {} ends with {:?}\n{}", done.command, done.code, done.stderr));
    }
    done
}

#[test]
fn the_commands_answer() {
    let (mut wrong, mut silent) = (Vec::new(), Vec::new());
    for recipe in recipes() {
        let name = recipe.name.as_str();
        let folder = Folder::new(&[]);
        let path = cookbook().join(name).with_extension("yaml");
        let target = if recipe.is_bundle() { "model.bpte" } else { "model.pte" };
        let written = ends_well(&folder, &[path.to_str().unwrap(), "-o", target], name, &mut wrong);
        if written.code != Some(0) {
            wrong.push(format!("{name}: {}", written.stderr));
            continue;
        }
        let names = folder.names();
        let files: Vec<&str> = names.iter().map(String::as_str).collect();
        let data = files.iter().filter(|file| file.ends_with(".ptd"));
        let with: Vec<&str> = data.flat_map(|file| ["--with", file]).collect();
        let checked = ends_well(&folder, &[&["check", "--data"], with.as_slice(), &files].concat(), name, &mut wrong);
        let loud = checked.stderr.contains("warning") || checked.code == Some(1);
        if loud && !written.stderr.contains("warning: ") {
            silent.push(recipe.name.clone());
        }
        for file in &files {
            ends_well(&folder, &["annotate", file], name, &mut wrong);
        }
        if !with.is_empty() {
            let joined = [&[target, "-o", "joined.pte", "--internal-data"], with.as_slice()].concat();
            ends_well(&folder, &joined, name, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(silent.is_empty(), "written without a warning: {silent:?}");
}

/// What `f` gives; `None` if it panics.
fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(f)).ok()
}

fn options(explicit: bool) -> PrintOptions {
    PrintOptions { explicit, large_data: LargeData::Inline, file: "file".into() }
}

/// A file of that name, as an assembly writes it.
fn file(assembly: &Assembly, name: &str) -> std::io::Result<Vec<u8>> {
    match assembly.data_files().next() {
        _ if name.ends_with(".bpte") => assembly.bundled()?.file(&[], &[]).to_vec(),
        Some((_, data)) if name.ends_with(".ptd") => data.to_vec(),
        _ => assembly.program_file().ok_or_else(|| std::io::Error::other("there are no methods"))?.to_vec(),
    }
}

/// Files that can be read are given back bit for bit by what `dump` makes of them, but for those that are listed with the reason;
/// nothing panics over the others.
#[test]
fn files_are_dumped_and_assembled_anew() {
    let mut panics = Vec::new();
    let mut lost = String::new();
    let (mut given, mut refused) = (0, 0);
    for recipe in recipes() {
        for (name, bytes) in recipe.files() {
            let title = format!("{}/{name}", recipe.name);
            let origin = Origin::Bytes(bytes.as_slice().into());
            let outcome = guarded(|| {
                // What comes of these is of no interest, as long as something does.
                let _ = pte_emit::print(
                    &pte_emit::Source::of_origin("dump", origin.clone()),
                    Path::new(""),
                    &options(true),
                );
                let _ = assemble(&Source::of_origin(&name, origin.clone()), &AssembleOptions::default())
                    .map(|assembly| file(&assembly, &name));
                let printed = pte_emit::print(
                    &pte_emit::Source::of_origin("dump", origin.clone()),
                    Path::new(""),
                    &options(false),
                )
                .ok()?;
                let input = Source::yaml(&title, &printed.text, Path::new(""));
                let again = assemble(&input, &AssembleOptions::default()).ok().map(|assembly| file(&assembly, &name));
                Some(match (again, printed.difference) {
                    (Some(Ok(again)), None) if again == bytes => None,
                    (_, Some(difference)) => Some(difference),
                    (Some(_), None) => Some("nothing, says dump, but the bytes differ".into()),
                    (None, None) => Some("nothing, says dump, but the text is refused".into()),
                })
            });
            match outcome {
                None => panics.push(title),
                Some(None) => refused += 1,
                Some(Some(None)) => given += 1,
                Some(Some(Some(difference))) => lost += &format!("{title}: {difference}\n"),
            }
        }
    }
    println!("{given} files are given back, {} are not, {refused} cannot be read", lost.lines().count());
    assert!(panics.is_empty(), "{panics:?}");
    golden::check("malformed/not_given_back.txt", &lost);
}

#[test]
#[ignore = "fetches the ExecuTorch runtime from a package index; run it with `cargo test --test malformed -- --ignored`"]
fn the_real_runtime_answers_as_the_first_lines_say() {
    let runner = runner::locate();
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for recipe in recipes() {
        let Some(said) = &recipe.answers else { continue };
        let folder = tempfile::tempdir().unwrap();
        let assembly = recipe.assemble();
        let (pte, ptds) = files::write(&assembly, folder.path()).unwrap();
        let plans = assembly.program.plans();
        let answer = |mode| answer(&runner, &pte, &ptds, mode, plans).unwrap_or_else(|error| panic!("{error}"));
        if bless {
            let mut answers = MODES.iter().zip(said).map(|((_, mode), said)| {
                // What depends on the moment may show when it is asked for several times, but need not.
                let found: BTreeSet<String> = (0..5).map(|_| answer(*mode)).collect();
                let known: BTreeSet<&str> = said.split(" or ").collect();
                match found.iter().all(|answer| known.contains(answer.as_str())) {
                    true => said.clone(),
                    false => found.into_iter().collect::<Vec<_>>().join(" or "),
                }
            });
            let (verified, unverified) = (answers.next().unwrap(), answers.next().unwrap());
            let (_, rest) = recipe.text.split_once('\n').unwrap();
            let Recipe { rule, words, .. } = &recipe;
            let text = format!("# {rule} | {words} | verified: {verified} | unverified: {unverified}\n{rest}");
            fs::write(cookbook().join(&recipe.name).with_extension("yaml"), text).unwrap();
            continue;
        }
        for ((level, mode), said) in MODES.into_iter().zip(said) {
            let found = answer(mode);
            if !said.split(" or ").any(|said| said == found) {
                wrong.push(format!("{}: {level}: the runtime says `{found}`, the first line `{said}`", recipe.name));
            }
            *counts.entry(format!("{level}: {}", found.split(' ').next().unwrap_or_default())).or_default() += 1;
        }
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// What the runtime makes of a program when every method that it lists is loaded and executed; the text's methods if it lists none.
/// Inputs are those of the program before it was made wrong, zeros as far as they are tensors.
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
        answers.get(1).and_then(|answer| answer.strip_prefix("methods")).ok_or("the runner names no methods")?;
    let mut names: Vec<String> = listed.split_whitespace().map(str::to_owned).collect();
    if names.is_empty() {
        // Whoever made the program knows what they are called.
        names = plans.iter().map(|plan| runner::quote(plan.name.as_deref().unwrap_or_default())).collect();
    }
    for (number, name) in names.iter().enumerate() {
        let mut script = format!("load {name}\n");
        for (number, value) in plans.get(number).into_iter().flat_map(inputs).enumerate() {
            let value = runner::spell(&value).map_err(|error| error.to_string())?;
            script += &format!("input {number} {value}\n");
        }
        script += "execute\n";
        let Some(answers) = ask(&script)? else { return Ok("crashes".into()) };
        // An input that is refused is missing when the method is executed.
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

/// Something for each input; None for what has no zero.
fn inputs(plan: &ExecutionPlan) -> Vec<TestData> {
    let values = plan.inputs.iter().flatten();
    let value = |index: &i32| plan.values().get(usize::try_from(*index).ok()?);
    values.map(|index| value(index).and_then(zero).unwrap_or(TestData::Null)).collect()
}

fn zero(value: &EValue) -> Option<TestData> {
    Some(match value {
        EValue::Null => TestData::Null,
        EValue::Int(n) => TestData::Int(*n),
        EValue::Double(x) => TestData::Double(*x),
        EValue::Bool(b) => TestData::Bool(*b),
        EValue::Tensor(tensor) => {
            let (sizes, dim_order) = (tensor.sizes.as_ref()?.to_vec(), tensor.dim_order.as_ref()?.to_vec());
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
