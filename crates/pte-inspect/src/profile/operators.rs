//! Finds the operators of a payload that the events of a delegate are about. A backend gives an event to each operator
//! that it builds, which executes one or several operations of the graph.

use pte_etdump::{DelegateEventId, ProfileEvent};
use pte_memory::Subject;
use pte_model::program::{ExecutionPlan, Instruction};
use pte_payload::decoded::PayloadOperator;

/// Number of operators after the last one that is found among which the operator of an event is looked for.
const MAX_SKIPPED: usize = 64;

/// Returns the operators of the payload that an instruction calls; none if they are not known.
pub(super) fn delegate_operators(
    subject: &Subject<'_>,
    plan: &ExecutionPlan,
    instruction: &Instruction,
) -> Vec<PayloadOperator> {
    let Instruction::DelegateCall { delegate_index, .. } = instruction else { return Vec::new() };
    let delegate = delegate_index.within(plan.delegates().len()).map(|index| &plan.delegates()[index]);
    let decoded = delegate.and_then(|delegate| subject.payloads.get(delegate)?.decoded());
    decoded.map(|decoded| decoded.operators()).unwrap_or_default()
}

/// Returns the name or number that a delegate gave an event; `None` outside of delegates.
pub(super) fn event_name(event: &ProfileEvent) -> Option<String> {
    Some(match event.delegate.as_ref()? {
        DelegateEventId::Name(name) => name.clone(),
        DelegateEventId::Number(number) => number.to_string(),
    })
}

/// Finds the operators of the events of a call, which have the same order. A release may build fewer or more of them.
pub(super) struct OperatorMatcher<'o> {
    /// Operators after the last one that was found.
    rest: &'o [PayloadOperator],
}

impl<'o> OperatorMatcher<'o> {
    pub fn new(operators: &'o [PayloadOperator]) -> OperatorMatcher<'o> {
        OperatorMatcher { rest: operators }
    }

    /// Returns the operator of the next event, such as `Convolution (NHWC, F32) IGEMM #1`.
    pub fn find(&mut self, event: &str) -> Option<&'o PayloadOperator> {
        let name = Some(letters(event.split(" (").next()?)).filter(|name| !name.is_empty())?;
        let at = self.rest.iter().take(MAX_SKIPPED).position(|operator| letters(operator.name) == name)?;
        let (before, rest) = self.rest.split_at(at + 1);
        self.rest = rest;
        before.last()
    }
}

/// Returns the letters of a name in lower case.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_matched_in_the_order_of_the_payload() {
        let kinds = ["Convolution", "Clamp", "Static Reshape", "Convolution", "Copy", "square_root", "add"];
        let operators: Vec<_> = kinds.iter().map(|name| PayloadOperator { name, nodes: Vec::new() }).collect();
        let mut matcher = OperatorMatcher::new(&operators);
        let events = [
            ("Convolution (NHWC, F32) IGEMM #1", Some(0)),
            ("Convolution (NHWC, F32) DWConv #1", Some(3)),
            ("Copy (NC, X32) #1", Some(4)),
            ("Unknown", None),
            ("Square Root (NC) #1", Some(5)),
            ("Add (ND)", Some(6)),
            ("Add (ND)", None),
        ];
        for (event, expected) in events {
            let expected = expected.map(|position: usize| &raw const operators[position]);
            assert_eq!(matcher.find(event).map(|operator| &raw const *operator), expected, "{event}");
        }
    }
}
