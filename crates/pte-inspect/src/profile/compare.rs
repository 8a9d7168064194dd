//! Adds the times of a second ETDump of the same program to a profile.

use super::times::{ComparedTime, quotient};
use super::{DelegateTime, InstructionTime, MeasuredTime, MethodProfile, OperationTime, OperatorTime, TimeProfile};

/// Number of executions of a method in both ETDumps.
type Executions = [u64; 2];

impl MeasuredTime {
    /// Adds the second times. Times per execution of the method are compared, because the numbers of executions may
    /// differ.
    fn compare(&mut self, second: &MeasuredTime, executions: Executions) {
        let [first, after] =
            [(self.total, executions[0]), (second.total, executions[1])].map(|(all, count)| quotient(all, count));
        self.compared = Some(ComparedTime {
            count: second.count,
            total: second.total,
            mean: second.mean,
            min: second.min,
            max: second.max,
            share: second.share,
            first,
            second: after,
            delta: after - first,
            ratio: (first > 0.0).then(|| after / first),
        });
    }
}

/// A row of times with a key that is the same in both profiles.
trait Row: Clone {
    type Key: PartialEq + Ord;

    fn key(&self) -> Self::Key;
    fn time(&mut self) -> &mut MeasuredTime;
    /// Removes the rows inside of it.
    fn clear_inside(&mut self);
    /// Adds the rows inside of the second row.
    fn compare_inside(&mut self, second: Option<&Self>, executions: Executions);
}

macro_rules! rows {
    ($( $row:ident by $key:ident : $type:ty $(, $inside:ident)?; )*) => {$(
        impl Row for $row {
            type Key = $type;

            fn key(&self) -> $type {
                self.$key.clone()
            }

            fn time(&mut self) -> &mut MeasuredTime {
                &mut self.time
            }

            fn clear_inside(&mut self) {
                $( self.$inside.clear(); )?
            }

            #[allow(unused_variables)]
            fn compare_inside(&mut self, second: Option<&Self>, executions: Executions) {
                $( compare_rows(&mut self.$inside, second.map_or(&[], |second| &second.$inside), executions); )?
            }
        }
    )*};
}

rows! {
    InstructionTime by index: usize;
    OperatorTime by operator: String;
    DelegateTime by name: String, operations;
    OperationTime by operation: String;
}

/// Adds the times of the second rows; those that only the second profile has are last.
fn compare_rows<R: Row>(first: &mut Vec<R>, second: &[R], executions: Executions) {
    let mut others: std::collections::BTreeMap<R::Key, &R> = second.iter().map(|row| (row.key(), row)).collect();
    for row in first.iter_mut() {
        let other = others.remove(&row.key());
        let mut time = other.cloned();
        let none = MeasuredTime::default();
        row.compare_inside(other, executions);
        row.time().compare(time.as_mut().map_or(&none, |row| row.time()), executions);
    }
    for row in others.into_values() {
        let mut added = row.clone();
        let time = std::mem::take(added.time());
        added.clear_inside();
        added.compare_inside(Some(row), executions);
        added.time().compare(&time, executions);
        first.push(added);
    }
}

impl TimeProfile {
    /// Adds the times of another execution of the same program to all rows, in [`MeasuredTime::compared`].
    pub fn compare(&mut self, second: &TimeProfile) {
        let [loads, second_loads] = [self.loading.count, second.loading.count];
        self.loading.compare(&second.loading, [loads, second_loads]);
        let none = |method: &MethodProfile| MethodProfile {
            name: method.name.clone(),
            index: method.index,
            executions: MeasuredTime::default(),
            overhead: MeasuredTime::default(),
            instructions: Vec::new(),
            operators: Vec::new(),
            delegates: Vec::new(),
        };
        for method in &second.methods {
            if !self.methods.iter().any(|first| first.index == method.index) {
                self.methods.push(none(method));
            }
        }
        self.methods.sort_by_key(|method| method.index);
        for method in &mut self.methods {
            match second.methods.iter().find(|other| other.index == method.index) {
                Some(other) => method.compare(other),
                None => {
                    let other = none(method);
                    method.compare(&other);
                }
            }
        }
    }
}

impl MethodProfile {
    fn compare(&mut self, second: &MethodProfile) {
        let executions = [self.executions.count, second.executions.count];
        self.executions.compare(&second.executions, executions);
        self.overhead.compare(&second.overhead, executions);
        compare_rows(&mut self.instructions, &second.instructions, executions);
        self.instructions.sort_by_key(|row| row.index);
        compare_rows(&mut self.operators, &second.operators, executions);
        compare_rows(&mut self.delegates, &second.delegates, executions);
    }
}
