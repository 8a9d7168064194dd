//! Follows the bytes at explicit locations of planned memory in the order of the instructions. It finds out whether a
//! step reads the content that was written to the same tensor, or content that another tensor with the same bytes left
//! there.
//!
//! If jumps leave this open, it assumes the latter, and the instructions that write these bytes are kept.

use std::collections::HashMap;

use super::graph::{MethodGraph, index};
use super::placed;
use pte_analysis::blocks::{self, Jump, Skips};
use pte_model::program::pools::{PoolContent, PoolRange};

/// Maximum number of locations of a group that are followed one by one.
const MOST_PLACES: usize = 8;

/// A location of the values of a group. Time 0 is before the first step, step `i` is at `i + 1`.
struct Place {
    range: PoolRange,
    life: Life,
}

/// Time span in which a location has the content that its group wrote.
#[derive(Clone, Copy)]
struct Life {
    /// The first time at which all of its bytes are written on all paths; `usize::MAX` if there is none.
    start: usize,
    /// The first later time at which another group writes some of them; `usize::MAX` if there is none.
    end: usize,
}

impl Life {
    const UNWRITTEN: Life = Life { start: usize::MAX, end: usize::MAX };
}

/// The locations of a method.
pub struct Places {
    places: Vec<Place>,
    /// By value: its own location. A value that becomes an alias has the locations of its group.
    own: Vec<Option<usize>>,
    /// By first value of a group: the time span of all its locations together.
    groups: HashMap<usize, Life>,
    /// By step: the last step that may run before this step runs again, or the step itself.
    again: Vec<usize>,
    /// The method has too many writes to follow them.
    is_irregular: bool,
}

impl Places {
    pub fn new(graph: &MethodGraph<'_>) -> Places {
        let count = graph.plan.values().len();
        let mut places = Places {
            places: Vec::new(),
            own: vec![None; count],
            groups: HashMap::new(),
            again: Vec::new(),
            is_irregular: false,
        };
        let mut by_start: HashMap<(usize, u32, u64), usize> = HashMap::new();
        let mut of_group: HashMap<usize, Vec<usize>> = HashMap::new();
        for value in 0..count {
            let Some(range) = placed::range(graph.plan.values(), value) else { continue };
            let group = graph.first_of_group(value);
            let place = *by_start.entry((group, range.pool, range.start)).or_insert_with(|| {
                of_group.entry(group).or_default().push(places.places.len());
                places.places.push(Place { range, life: Life::UNWRITTEN });
                places.places.len() - 1
            });
            let end = &mut places.places[place].range.end;
            *end = (*end).max(range.end);
            places.own[value] = Some(place);
        }
        if places.places.is_empty() {
            return places;
        }
        let jumps = Jumps::new(graph);
        places.follow(graph, &of_group, &jumps);
        places.again = jumps.again;
        let life = |places: &Places, members: &[usize]| {
            let lives = || members.iter().map(|place| places.places[*place].life);
            let start = lives().map(|life| life.start).max().unwrap_or(usize::MAX);
            Life { start, end: lives().map(|life| life.end).min().unwrap_or(usize::MAX) }
        };
        places.groups = of_group.iter().map(|(group, members)| (*group, life(&places, members))).collect();
        places
    }

    /// Follows the writes in the order of the steps.
    fn follow(&mut self, graph: &MethodGraph<'_>, of_group: &HashMap<usize, Vec<usize>>, jumps: &Jumps) {
        let values = graph.plan.values();
        let mut writes: Vec<(usize, usize)> = Vec::new();
        let inputs = graph.plan.inputs.iter().flatten();
        writes.extend(inputs.filter_map(|input| index(values, (*input).into())).map(|input| (0, input)));
        for value in 0..values.len() {
            let mut steps = graph.writing_steps(value);
            let Some(first) = steps.next() else { continue };
            let mut written = values[value].items().iter().filter_map(|item| index(values, item)).peekable();
            // A list that several steps write has as many writes as items and steps together.
            self.is_irregular |= written.peek().is_some() && steps.next().is_some();
            writes.extend(written.map(|item| (first + 1, item)));
            writes.extend(graph.writing_steps(value).map(|step| (step + 1, value)));
        }
        writes.sort_unstable();
        let mut content = PoolContent::default();
        for (time, value) in writes {
            let step = time.checked_sub(1);
            if let Some(place) = self.own[value].filter(|_| !graph.is_redirected(value)) {
                let range = placed::range(values, value).unwrap_or(self.places[place].range);
                let is_certain = step.is_none_or(|step| !jumps.is_skipped[step] && !graph.steps[step].is_partial);
                let Place { range: whole, life, .. } = &mut self.places[place];
                if life.start == usize::MAX && is_certain && range.end == whole.end {
                    life.start = time;
                }
                self.write(&mut content, place, range, time);
            } else if let Some(members) = of_group.get(&graph.first_of_group(value)) {
                self.is_irregular |= members.len() > MOST_PLACES;
                for place in members.iter().take(MOST_PLACES) {
                    self.write(&mut content, *place, self.places[*place].range, time);
                }
            }
        }
    }

    /// Writes a range of a place, and ends the lives of other places there.
    fn write(&mut self, content: &mut PoolContent<usize>, place: usize, range: PoolRange, time: usize) {
        content.remove(range, |other| {
            let life = &mut self.places[other].life;
            if other != place {
                life.end = life.end.min(time);
            }
        });
        let life = self.places[place].life;
        if life.start != usize::MAX && life.end == usize::MAX {
            content.insert(range, place);
        }
    }

    /// Returns `true` if a step that reads a value may find the content of another value at an explicit location there.
    pub fn is_disturbed(&self, graph: &MethodGraph<'_>, value: usize, step: usize) -> bool {
        let life = match self.own[value] {
            _ if graph.is_redirected(value) => self.groups.get(&graph.first_of_group(value)).copied(),
            place => place.map(|place| self.places[place].life),
        };
        let last = self.again.get(step).filter(|last| **last > step).map_or(step, |last| last + 1);
        life.is_some_and(|life| self.is_irregular || life.start > step || life.end <= last)
    }
}

/// Jumps of a method; steps are counted through all chains.
struct Jumps {
    /// By step: a jump may skip it.
    is_skipped: Vec<bool>,
    /// By step: the last step that may run before this step runs again, or the step itself.
    again: Vec<usize>,
}

impl Jumps {
    fn new(graph: &MethodGraph<'_>) -> Jumps {
        let count = graph.steps.len();
        let all = blocks::jumps(graph.plan);
        let mut skips = Skips::new(&all);
        let is_skipped = (0..count as u32).map(|step| skips.around(step).is_some()).collect();
        let mut jumps = Jumps { is_skipped, again: (0..count).collect() };
        // By step: the last backward jump to it.
        let mut back = vec![0; count];
        for Jump { step, to } in all.iter().filter(|jump| jump.is_back()) {
            back[*to as usize] = *step as usize;
        }
        // Overlapping loops count as one.
        let mut start = 0;
        while start < count {
            let mut last = back[start].max(start);
            let mut step = start;
            while step < last {
                step += 1;
                last = last.max(back[step]);
            }
            jumps.again[start..=last].fill(last);
            start = last + 1;
        }
        jumps
    }
}
