//! Validation of a source for several releases and targets, without repeating what does not depend on them.

use std::cell::LazyCell;

use super::findings::FileFindings;
use crate::assembly::SourceNames;
use crate::facade::model::Model;
use pte_check::target::Target;
use pte_check::{CheckOptions, Finding, Findings, RuleId, RuleSeverity};
use pte_model::diagnostics::Report;
use pte_model::error::Error;
use pte_model::format::Format;
use pte_releases::Release;

/// Divides the findings because of which an edited file is not written into limits of the analysis, which are
/// only warnings, and errors.
pub fn of_edit(findings: &[Findings]) -> (Vec<&Finding>, Vec<&Finding>) {
    let errors = findings.iter().flat_map(|findings| &findings.list);
    let errors = errors.filter(|finding| finding.rule.severity <= RuleSeverity::Invalid);
    errors.partition(|finding| finding.rule.id == RuleId::X_18)
}

/// Result of validating an input.
#[derive(Default)]
pub struct Validated {
    /// The findings.
    pub file: FileFindings,
    /// The kept findings as lines, for each list of findings.
    pub lines: Vec<Vec<String>>,
    /// The file could be read; if not, the error is printed already.
    pub is_read: bool,
}

/// Compares a program with the target, and adds the result to the findings of the program, the first file, for each
/// release. One with malformed parts cannot be compared.
fn add_target(
    source: &Model,
    target: Option<&Target>,
    found: &mut [Vec<(String, Findings)>],
    options: &CheckOptions,
) -> Result<(), Error> {
    let mut programs: Vec<&mut Findings> =
        found.iter_mut().filter_map(|files| files.first_mut().map(|(_, findings)| findings)).collect();
    programs.retain(|program| program.count(RuleSeverity::Malformed) == 0);
    let Some(target) = target.filter(|_| !programs.is_empty()) else { return Ok(()) };
    match source.check_target(target, options) {
        Ok(found) => programs.into_iter().for_each(|program| program.append(found.clone())),
        // The findings say what cannot be read.
        Err(error) if error.io_kind().is_none() && programs.iter().all(|program| program.has_errors()) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The results for each release, and the target.
type ForTarget<'t> = (Vec<Validated>, Option<&'t Target>);

/// Validates a binary file, or the files that YAML assembles to, for each target and each release; if there is no
/// release, for that of the target. What does not depend on the target is done once.
///
/// # Errors
/// A file that cannot be read.
pub fn validate_source<'t>(
    source: &Model,
    options: &CheckOptions,
    releases: &[Option<Release>],
    targets: &'t [Target],
) -> Result<Vec<ForTarget<'t>>, Error> {
    let targets: Vec<Option<&Target>> =
        if targets.is_empty() { vec![None] } else { targets.iter().map(Some).collect() };
    let of_target = |target: Option<&Target>| match releases {
        [None] => vec![target.and_then(Target::release).cloned()],
        _ => releases.to_vec(),
    };
    let assembly = match source.is_text().then(|| source.assembly()).transpose() {
        Ok(assembly) => assembly,
        Err(error) if error.io_kind().is_some() => return Err(error),
        Err(error) => {
            let of_release = |_| Validated {
                file: FileFindings::of_source(source, error.report().clone(), Vec::new()),
                is_read: true,
                ..Validated::default()
            };
            let of_target = targets.into_iter().map(|target| (releases.iter().map(of_release).collect(), target));
            return Ok(of_target.collect());
        }
    };
    let mut options = options.clone();
    let (has_program, report) = match assembly {
        Some(assembly) => {
            options.reported.clone_from(assembly.unknown_operators());
            (assembly.program_file().is_some(), assembly.warnings.clone())
        }
        None => (source.format()? != Some(Format::FlatTensor), Report::default()),
    };
    let mut all: Vec<Option<Release>> = Vec::new();
    for release in targets.iter().flat_map(|target| of_target(*target)) {
        if !all.contains(&release) {
            all.push(release);
        }
    }
    let known = source.check_for(&options, &all)?;
    let mut validated = Vec::new();
    let names = LazyCell::new(|| assembly.map(SourceNames::new));
    let line = |finding: &Finding| names.as_ref().map_or_else(|| finding.lines(), |names| names.lines(finding));
    for target in targets {
        let at = |release| all.iter().position(|known| *known == release).and_then(|at| known.get(at)).cloned();
        let mut found: Vec<Vec<(String, Findings)>> = of_target(target).into_iter().filter_map(at).collect();
        if target.is_some_and(Target::states_operators) {
            // Its rule R-1 says which operators are missing.
            found.iter_mut().flatten().for_each(|(_, findings)| findings.remove(RuleId::O_5));
        }
        add_target(source, target.filter(|_| has_program), &mut found, &options)?;
        let files = found.into_iter().map(|files| {
            let lines = files.iter().map(|(_, file)| file.list.iter().map(line).collect()).collect();
            let findings = files.into_iter().map(|(_, findings)| findings);
            Validated { file: FileFindings::of_source(source, report.clone(), findings), lines, is_read: true }
        });
        validated.push((files.collect(), target));
    }
    Ok(validated)
}
