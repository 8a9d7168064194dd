//! The rewrites of XNNPACK that change the memory of a graph, in its order: operations are merged, replaced and
//! removed. Rewrites that leave the memory as it is are left out.

use smallvec::SmallVec;

use super::lower::{Lowered, Storage};
use crate::model::FieldContent;
use crate::schema::{FP32, Family, constant_pad, transpose};

/// Number of operations that XNNPACK replaces by one table.
const MAX_TABLE: usize = 10;

/// Largest number of operations that are listed for an operator: chains of a hostile graph are long.
const MAX_MERGED: usize = 16;

/// Number of passes over the operations; XNNPACK stops when nothing changes.
const MAX_PASSES: usize = 8;

impl Lowered<'_> {
    /// Applies all rewrites.
    pub fn rewrite(&mut self) {
        self.remove_unused();
        let before = self.nodes.len();
        self.merge_paddings_and_copies();
        self.compact();
        self.replace_by_tables();
        self.compact();
        let merged = self.nodes.len();
        for _ in 0..MAX_PASSES {
            let before = self.nodes.len();
            self.simplify();
            self.remove_unused();
            if self.nodes.len() == before {
                break;
            }
        }
        self.quantize_in_place();
        self.remove_unused();
        // XNNPACK compacts the list after these rewrites only if they change something.
        self.merged = if self.nodes.len() == merged { before - merged } else { 0 };
    }

    /// Removes operations that were replaced.
    fn compact(&mut self) {
        self.nodes.retain(|node| !node.is_removed);
    }

    /// Removes operations whose results nothing reads.
    fn remove_unused(&mut self) {
        let mut is_read: Vec<bool> = self.values.iter().map(|value| value.is_output).collect();
        for node in self.nodes.iter_mut().rev().filter(|node| !node.is_removed) {
            match node.outputs.len() > 1 || node.outputs.iter().any(|value| is_read[*value]) {
                true => node.inputs.iter().for_each(|value| is_read[*value] = true),
                false => node.is_removed = true,
            }
        }
        self.compact();
    }

    /// Merges a padding into the convolution after it, and copies into their neighbours.
    fn merge_paddings_and_copies(&mut self) {
        let uses = Uses::of(self);
        for value in 0..uses.count.len() {
            let (Some(producer), Some(consumer)) = (uses.producer[value], uses.only_consumer(value)) else { continue };
            if self.values[value].is_output || self.nodes[producer].is_removed || self.nodes[consumer].is_removed {
                continue;
            }
            let kinds = (self.nodes[producer].kind, self.nodes[consumer].kind);
            match kinds {
                (Family::Pad, Family::Convolution) if self.is_spatial_padding(producer) => {
                    self.nodes[consumer].is_padded = true;
                    self.skip(producer, consumer, value);
                }
                (_, Family::Copy) => {
                    let output = self.nodes[consumer].outputs[0];
                    self.join(producer, consumer);
                    for written in self.nodes[producer].outputs.iter_mut().filter(|written| **written == value) {
                        *written = output;
                    }
                    self.nodes[consumer].is_removed = true;
                }
                (Family::Copy, _) => self.skip(producer, consumer, value),
                _ => {}
            }
        }
    }

    /// Removes the producer of the input of an operation, which then reads the inputs of the producer.
    fn skip(&mut self, producer: usize, consumer: usize, value: usize) {
        let input = self.nodes[producer].inputs[0];
        for read in self.nodes[consumer].inputs.iter_mut().filter(|read| **read == value) {
            *read = input;
        }
        self.join(consumer, producer);
        self.nodes[producer].is_removed = true;
    }

    /// Lets an operation execute those of another one, too: the first of them.
    fn join(&mut self, node: usize, other: usize) {
        let others = self.nodes[other].nodes.clone();
        let left = MAX_MERGED.saturating_sub(self.nodes[node].nodes.len());
        self.nodes[node].nodes.extend(others.into_iter().take(left));
    }

    /// Returns `true` for a padding of zeros of height and width.
    fn is_spatial_padding(&self, node: usize) -> bool {
        use constant_pad::{padding_value, post_paddings, pre_paddings};
        let Some(source) = self.nodes[node].source else { return false };
        let outer = |slot: u16| match source.fields.get(usize::from(slot)) {
            Some(FieldContent::UInts(list)) => list.len() == 4 && list[0] == 0 && list[3] == 0,
            Some(_) | None => false,
        };
        let is_zero =
            matches!(source.fields.get(usize::from(padding_value)), Some(FieldContent::Float(value)) if *value == 0.0);
        let output = &self.values[self.nodes[node].outputs[0]];
        outer(pre_paddings) && outer(post_paddings) && is_zero && output.datatype == FP32
    }

    /// Returns the only input of an operation by elements that is not a constant of one element.
    fn unary_input(&self, node: usize) -> Option<usize> {
        let node = &self.nodes[node];
        match (node.kind, &node.inputs[..]) {
            (Family::Unary | Family::Clamp, [input, ..]) => Some(*input),
            (Family::Binary, [one, other]) => {
                let is_scalar =
                    |value: usize| self.values[value].storage == Storage::Constant && self.values[value].count() == 1;
                match (is_scalar(*one), is_scalar(*other)) {
                    (true, false) => Some(*other),
                    (false, true) => Some(*one),
                    (true, true) | (false, false) => None,
                }
            }
            _ => None,
        }
    }

    /// Replaces chains of operations from 8 bits to 8 bits by a table.
    fn replace_by_tables(&mut self) {
        let uses = Uses::of(self);
        for first in 0..self.nodes.len() {
            let Some(input) = self.unary_input(first).filter(|_| !self.nodes[first].is_removed) else { continue };
            if self.values[input].bits() != 8 {
                continue;
            }
            let mut chain: SmallVec<[usize; MAX_TABLE]> = SmallVec::new();
            let mut next = Some(first);
            while let Some(node) = next.filter(|_| chain.len() < MAX_TABLE) {
                chain.push(node);
                let output = self.nodes[node].outputs[0];
                let only = uses.only_consumer(output).filter(|_| !self.values[output].is_output);
                next = only.filter(|next| self.unary_input(*next) == Some(output));
            }
            while chain.len() > 1
                && chain.last().is_some_and(|last| self.values[self.nodes[*last].outputs[0]].bits() != 8)
            {
                chain.pop();
            }
            if let [before @ .., last] = &chain[..]
                && !before.is_empty()
            {
                for node in before {
                    self.nodes[*node].is_removed = true;
                    self.join(*last, *node);
                }
                let last = &mut self.nodes[*last];
                last.kind = Family::Table;
                last.inputs = [input].into_iter().collect();
            }
        }
    }

    /// Merges bounds into the operations that apply them, consecutive changes of shape, and transpositions of second
    /// matrices; removes changes of shape that change nothing.
    fn simplify(&mut self) {
        let mut uses = Uses::of(self);
        // Replacement of each value. Operations come after those whose results they read.
        let mut instead: Vec<usize> = (0..self.values.len()).collect();
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_removed {
                continue;
            }
            self.nodes[node].inputs.iter_mut().for_each(|read| *read = instead[*read]);
            self.bound_by_constant(node);
            let (input, output) = (self.nodes[node].inputs[0], self.nodes[node].outputs[0]);
            let producer = uses.producer[input].filter(|producer| !self.nodes[*producer].is_removed);
            let alone = producer.filter(|_| uses.count[input] == 1 && !self.values[input].is_output);
            match self.nodes[node].kind {
                Family::Clamp if !self.nodes[node].has_bounds() => {
                    if !self.values[output].is_output {
                        instead[output] = input;
                        uses.count[input] = (uses.count[input] + uses.count[output]).saturating_sub(1);
                        self.nodes[node].is_removed = true;
                    } else if let Some(producer) = producer.filter(|_| !self.values[input].is_output) {
                        for written in self.nodes[producer].outputs.iter_mut().filter(|written| **written == input) {
                            *written = output;
                        }
                        instead[input] = output;
                        self.nodes[node].is_removed = true;
                    }
                }
                Family::Clamp => {
                    if let Some(producer) = alone.filter(|producer| self.can_have_bounds(*producer)) {
                        self.nodes[producer].outputs[0] = output;
                        self.join(producer, node);
                        self.nodes[node].is_removed = true;
                        uses.producer[output] = Some(producer);
                    }
                }
                Family::Reshape => {
                    self.values[output].has_fixed_sizes = true;
                    if let Some(producer) = alone.filter(|producer| self.nodes[*producer].kind == Family::Reshape) {
                        self.skip(producer, node, input);
                    }
                    self.remove_reshape(node, &mut uses, &mut instead);
                }
                Family::FullyConnected | Family::MatrixProduct => self.merge_transposition(node, &uses),
                Family::Unary | Family::Binary => {
                    let fixed = self.nodes[node].inputs.iter().all(|input| self.values[*input].has_fixed_sizes);
                    self.values[output].has_fixed_sizes |= fixed;
                }
                _ => {}
            }
        }
        // Operations before those that were removed.
        for node in &mut self.nodes {
            node.inputs.iter_mut().for_each(|read| *read = instead[*read]);
        }
    }

    /// Makes bounds of the smaller or the larger of a value and a constant of one element.
    fn bound_by_constant(&mut self, node: usize) {
        if !self.nodes[node].is_minimum_or_maximum() || self.nodes[node].kind != Family::Binary {
            return;
        }
        let Some(input) = self.unary_input(node) else { return };
        let constant = self.nodes[node].inputs.iter().copied().find(|value| *value != input);
        let rank = |value: usize| self.values[value].dims.len();
        if constant.is_some_and(|constant| rank(constant) <= rank(input)) {
            self.nodes[node].kind = Family::Clamp;
            self.nodes[node].inputs = [input].into_iter().collect();
        }
    }

    /// Returns `true` for an operation that can apply bounds to its output.
    fn can_have_bounds(&self, node: usize) -> bool {
        matches!(
            self.nodes[node].kind,
            Family::Clamp
                | Family::AveragePooling
                | Family::MaxPooling
                | Family::Convolution
                | Family::TransposedConvolution
                | Family::FullyConnected
        )
    }

    /// Removes a change of shape to the same sizes.
    fn remove_reshape(&mut self, node: usize, uses: &mut Uses, instead: &mut [usize]) {
        let (input, output) = (self.nodes[node].inputs[0], self.nodes[node].outputs[0]);
        let (from, to) = (&self.values[input], &self.values[output]);
        let is_same = from.storage == Storage::Constant || from.dims == to.dims;
        if !from.has_fixed_sizes || uses.count[input] > 1 || to.is_output || !is_same {
            return;
        }
        instead[output] = input;
        if self.values[input].storage == Storage::Constant {
            self.values[input].dims = self.values[output].dims.clone();
        }
        uses.count[input] = uses.count[output];
        self.nodes[node].is_removed = true;
    }

    /// Removes the transposition of the last two dimensions of a second matrix.
    fn merge_transposition(&mut self, node: usize, uses: &Uses) {
        let Some(weights) = self.nodes[node].inputs.get(1).copied() else { return };
        let Some(producer) = uses.producer[weights].filter(|_| uses.count[weights] == 1) else { return };
        if self.nodes[producer].kind != Family::Transpose || self.nodes[producer].is_removed {
            return;
        }
        let Some(source) = self.nodes[producer].source else { return };
        let Some(FieldContent::UInts(perm)) = source.fields.get(usize::from(transpose::perm)) else { return };
        let rank = perm.len();
        let is_last = rank >= 2
            && (perm[rank - 2], perm[rank - 1]) == (rank as u32 - 1, rank as u32 - 2)
            && perm[..rank - 2].iter().zip(0u32..).all(|(axis, position)| *axis == position);
        if is_last {
            self.nodes[node].inputs[1] = self.nodes[producer].inputs[0];
            self.join(node, producer);
            self.nodes[producer].is_removed = true;
        }
    }

    /// Lets matrix products quantize their inputs themselves.
    fn quantize_in_place(&mut self) {
        let uses = Uses::of(self);
        for node in 0..self.nodes.len() {
            let input = self.nodes[node].inputs[0];
            let is_product = matches!(self.nodes[node].kind, Family::FullyConnected | Family::MatrixProduct);
            let Some(producer) = uses.producer[input].filter(|_| is_product) else { continue };
            if self.nodes[producer].kind == Family::Quantize {
                self.nodes[node].inputs[0] = self.nodes[producer].inputs[0];
                self.nodes[node].quantizes = true;
                self.join(node, producer);
            }
        }
    }
}

/// Producer and consumers of each value.
struct Uses {
    producer: Vec<Option<usize>>,
    consumer: Vec<Option<usize>>,
    /// Number of operations that read it.
    count: Vec<usize>,
}

impl Uses {
    fn of(lowered: &Lowered<'_>) -> Uses {
        let len = lowered.values.len();
        let mut uses = Uses { producer: vec![None; len], consumer: vec![None; len], count: vec![0; len] };
        for (number, node) in lowered.nodes.iter().enumerate().filter(|(_, node)| !node.is_removed) {
            for (position, value) in node.inputs.iter().enumerate() {
                if !node.inputs[..position].contains(value) {
                    uses.count[*value] += 1;
                    uses.consumer[*value].get_or_insert(number);
                }
            }
            node.outputs.iter().for_each(|value| uses.producer[*value] = Some(number));
        }
        uses
    }

    fn only_consumer(&self, value: usize) -> Option<usize> {
        self.consumer[value].filter(|_| self.count[value] == 1)
    }
}
