//! Renames methods, with their tests and with the constant methods in which the exporter describes a method for
//! training.
//!
//! Methods keep their order: nothing but the names changes.

use std::collections::{BTreeMap, HashMap};

use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{ExecutionPlan, Program};
use serde::Serialize;

/// Prefixes of the constant methods that describe a method for training; the name of the method follows (E-1).
pub const TRAINING_GETTERS: [&str; 3] =
    ["__et_training_gradients_index_", "__et_training_parameters_index_", "__et_training_fqn_"];

/// A new name of a method.
///
/// ```
/// use pte_transform::rename::MethodRename;
///
/// assert_eq!(MethodRename::parse("forward=encode"), Ok(MethodRename::new("forward", "encode")));
/// assert!(MethodRename::parse("forward").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MethodRename {
    /// Present name.
    pub from: String,
    /// New name.
    pub to: String,
}

impl MethodRename {
    /// Returns the renaming of a method.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> MethodRename {
        MethodRename { from: from.into(), to: to.into() }
    }

    /// Parses `OLD=NEW`.
    ///
    /// # Errors
    /// The form that is expected.
    pub fn parse(text: &str) -> Result<MethodRename, String> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok(MethodRename::new(from, to)),
            _ => Err("expected OLD=NEW, two names of methods".to_owned()),
        }
    }
}

/// Returns the method that a constant method describes for training, by their names.
pub fn trained_method(name: &str) -> Option<&str> {
    TRAINING_GETTERS.iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// Renames methods of a program and of its tests, all at once, so that names can be swapped. Constant methods that
/// describe a renamed method for training follow it. Returns the renamed methods, in the order of the program.
///
/// # Errors
/// A name that no method has, a method with two new names, or a new name that another method has; nothing is changed.
pub fn rename(
    program: &mut Program,
    tests: &mut [MethodTests],
    renames: &[MethodRename],
) -> Result<Vec<MethodRename>, Vec<Diagnostic>> {
    let names: Vec<String> = program.plans().iter().map(name_of).collect();
    let mut errors = Vec::new();
    let mut new: BTreeMap<&str, &str> = BTreeMap::new();
    for MethodRename { from, to } in renames {
        if !names.contains(from) {
            let list = first_names(names.iter().map(String::as_str));
            let unknown = Code::UnmetRequest.whole(format!("unknown method `{}`; it has {list}", clipped(from)));
            errors.push(unknown.suggest(from, names.iter().map(String::as_str)));
        } else if let Some(other) = new.insert(from, to).filter(|other| *other != to.as_str()) {
            let message =
                format!("method `{}` gets two names: `{}` and `{}`", clipped(from), clipped(other), clipped(to));
            errors.push(Code::DuplicateName.whole(message));
        }
    }
    let renamed = |name: &String| match (new.get(name.as_str()), trained_method(name)) {
        (Some(to), _) => (*to).to_owned(),
        (None, Some(method)) if new.contains_key(method) => {
            format!("{}{}", &name[..name.len() - method.len()], new[method])
        }
        (None, _) => name.clone(),
    };
    let after: Vec<String> = names.iter().map(renamed).collect();
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (number, name) in after.iter().enumerate() {
        let other = *first.entry(name).or_insert(number);
        // Equal names that the program had before are not the fault of the request.
        if names[other] != names[number] {
            let message = format!(
                "methods `{}` and `{}` would both be called `{}`",
                clipped(&names[other]),
                clipped(&names[number]),
                clipped(name)
            );
            errors.push(Code::DuplicateName.whole(message));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let changed: Vec<MethodRename> = names
        .iter()
        .zip(&after)
        .filter(|(from, to)| from != to)
        .map(|(from, to)| MethodRename::new(from, to))
        .collect();
    for (plan, name) in program.plans_mut().iter_mut().zip(&after) {
        if plan.name.as_ref().is_some_and(|old| old != name) {
            plan.name = Some(name.clone());
        }
    }
    for tests in tests {
        if let Some(renamed) = changed.iter().find(|renamed| renamed.from == tests.method) {
            tests.method.clone_from(&renamed.to);
        }
    }
    Ok(changed)
}

/// Returns the name of a method; an absent one is empty.
pub fn name_of(plan: &ExecutionPlan) -> String {
    plan.name.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(names: &[&str]) -> Program {
        Program::new(names.iter().map(|name| ExecutionPlan::new(*name)).collect())
    }

    fn names(program: &Program) -> Vec<String> {
        program.plans().iter().map(name_of).collect()
    }

    #[test]
    fn names_are_swapped_with_their_tests() {
        let mut both = program(&["a", "b"]);
        let mut tests = [MethodTests::new("b", Vec::new()), MethodTests::new("a", Vec::new())];
        let swap = [MethodRename::new("a", "b"), MethodRename::new("b", "a")];
        assert_eq!(rename(&mut both, &mut tests, &swap).unwrap().len(), 2);
        assert_eq!(names(&both), ["b", "a"]);
        assert_eq!(tests.each_ref().map(|tests| tests.method.as_str()), ["a", "b"]);
    }

    #[test]
    fn descriptions_for_training_follow_their_method() {
        let mut trained = program(&["forward", "__et_training_fqn_forward", "__et_training_fqn_other"]);
        rename(&mut trained, &mut [], &[MethodRename::new("forward", "train")]).unwrap();
        assert_eq!(names(&trained), ["train", "__et_training_fqn_train", "__et_training_fqn_other"]);
    }

    #[test]
    fn a_wrong_request_changes_nothing() {
        let mut both = program(&["a", "b"]);
        for (from, to, expected) in [
            ("c", "d", "unknown method `c`; it has `a`, `b`"),
            ("a", "b", "methods `a` and `b` would both be called `b`"),
        ] {
            let errors = rename(&mut both, &mut [], &[MethodRename::new(from, to)]).unwrap_err();
            assert_eq!(errors[0].message, expected);
        }
        let twice = [MethodRename::new("a", "c"), MethodRename::new("a", "d")];
        assert!(rename(&mut both, &mut [], &twice).unwrap_err()[0].message.contains("gets two names"));
        assert_eq!(names(&both), ["a", "b"]);
    }
}
