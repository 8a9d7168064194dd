//! What the instructions of a method do, computed once for all that ask: operators, accesses to values, jumps and basic blocks, aliases,
//! lifetimes, and what is known of results before the method runs.
//!
//! Reports nothing, changes no program, and assigns no memory: the users are `check`, `diff`, `inspect`, `layout`, `printer`, `ir` and
//! `transform`.
//!
//! # Unknown operators and delegates
//!
//! An argument of a delegate, or of an operator whose signature is not known, is [`AccessKind::Unknown`](operators::AccessKind::Unknown). Where
//! only one reading is followed, it is written if it is a tensor without content at this point, and read otherwise: see
//! [`Access::reads`](access::Access::reads) and [`Access::writes`](access::Access::writes). Arguments of a delegate before the first one
//! without content are its inputs (E-12). Where a mistake must not remove anything, the argument may be written in either case, and such
//! a call has an effect. Where a call is written with its results apart, these begin at [`outs_of_unknown`](operators::outs_of_unknown).

pub mod access;
pub mod aliases;
pub mod blocks;
pub mod inference;
pub mod lifetimes;
pub mod operators;
