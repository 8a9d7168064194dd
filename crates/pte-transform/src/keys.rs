//! Finds keys of named data in payloads, whatever their format: the payload of a delegate that looks up data has the
//! key as text.
//!
//! A payload may also compute its keys: that a key is not found does not mean that nothing needs it.

use std::collections::{HashMap, VecDeque};
use std::io;

use pte_model::data::Blob;
use pte_model::data::produce::read_blocks;

/// Bytes of a payload that are read at once.
const CHUNK: u64 = 1 << 20;

/// Keys as an automaton (Aho and Corasick): the bytes of a payload are read once, whatever the number of keys is.
#[derive(Debug)]
pub struct KeyFinder {
    /// By byte: the state that follows the first one, in which most bytes leave the automaton.
    first: [u32; 256],
    /// By state and byte: the state that follows.
    next: HashMap<(u32, u8), u32>,
    /// By state: the state of the longest suffix that begins a key.
    suffix: Vec<u32>,
    /// By state: the keys that end there; then the nearest suffix with keys, or 0.
    keys: Vec<(Vec<usize>, u32)>,
}

impl KeyFinder {
    /// Returns a finder of keys. Empty ones are never found.
    pub fn new<'k>(keys: impl Iterator<Item = &'k str>) -> KeyFinder {
        let mut finder =
            KeyFinder { first: [0; 256], next: HashMap::new(), suffix: vec![0], keys: vec![(Vec::new(), 0)] };
        for (number, key) in keys.enumerate().filter(|(_, key)| !key.is_empty()) {
            let mut state = 0;
            for byte in key.bytes() {
                let new = finder.keys.len() as u32;
                state = *finder.next.entry((state, byte)).or_insert(new);
                if state == new {
                    finder.suffix.push(0);
                    finder.keys.push((Vec::new(), 0));
                }
            }
            finder.keys[state as usize].0.push(number);
        }
        for byte in u8::MIN..=u8::MAX {
            finder.first[usize::from(byte)] = finder.next.get(&(0, byte)).copied().unwrap_or(0);
        }
        finder.link();
        finder
    }

    /// Sets the suffixes, the shortest states first.
    fn link(&mut self) {
        let mut children: HashMap<u32, Vec<(u8, u32)>> = HashMap::new();
        self.next.iter().for_each(|((state, byte), next)| children.entry(*state).or_default().push((*byte, *next)));
        let mut queue: VecDeque<u32> = children.get(&0).into_iter().flatten().map(|(_, state)| *state).collect();
        while let Some(state) = queue.pop_front() {
            for (byte, child) in children.get(&state).into_iter().flatten() {
                let suffix = self.step(self.suffix[state as usize], *byte);
                self.suffix[*child as usize] = suffix;
                let nearest = &self.keys[suffix as usize];
                self.keys[*child as usize].1 = if nearest.0.is_empty() { nearest.1 } else { suffix };
                queue.push_back(*child);
            }
        }
    }

    fn step(&self, mut state: u32, byte: u8) -> u32 {
        while state != 0 {
            match self.next.get(&(state, byte)) {
                Some(next) => return *next,
                None => state = self.suffix[state as usize],
            }
        }
        self.first[usize::from(byte)]
    }

    /// Sets the flags of the keys that some bytes contain.
    pub fn mark(&self, bytes: &Blob, found: &mut [bool]) -> io::Result<()> {
        let mut state = 0;
        let offsets = (0..bytes.len()).step_by(CHUNK as usize).take_while(|_| self.keys.len() > 1);
        read_blocks([bytes], CHUNK, offsets, |_, [bytes]| {
            for byte in bytes {
                state = self.step(state, *byte);
                self.mark_ends(state, found);
            }
            Ok(true)
        })
    }

    fn mark_ends(&self, state: u32, found: &mut [bool]) {
        let mut at = state;
        while at != 0 {
            let (keys, nearest) = &self.keys[at as usize];
            // The suffixes of a state that was marked are marked, too.
            if keys.iter().any(|key| found.get(*key) == Some(&true)) {
                return;
            }
            keys.iter().for_each(|key| found[*key] = true);
            at = *nearest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(keys: &[&str], bytes: &[u8]) -> Vec<bool> {
        let mut flags = vec![false; keys.len()];
        KeyFinder::new(keys.iter().copied()).mark(&Blob::bytes(bytes), &mut flags).unwrap();
        flags
    }

    #[test]
    fn keys_inside_each_other_are_found() {
        assert_eq!(found(&["abcd", "bc", "c", "x", ""], b"..abce"), [false, true, true, false, false]);
        assert_eq!(found(&["abcd", "bcd", "cd", "bcd"], b"abcd"), [true; 4]);
        assert_eq!(found(&["aab"], b"aaab"), [true]);
    }

    #[test]
    fn a_key_across_two_chunks_is_found() {
        let mut bytes = vec![b'k'; CHUNK as usize - 2];
        bytes.extend(b"weight");
        assert_eq!(found(&["weight", "weights"], &bytes), [true, false]);
    }
}
