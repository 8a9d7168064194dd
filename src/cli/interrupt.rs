//! Interrupts (Ctrl-C): a command that has a result so far is told, others end at once.

use std::sync::atomic::{AtomicBool, Ordering};

static DEFERRED: AtomicBool = AtomicBool::new(false);
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt does not end the process: the command ends when [`is_requested`] returns true.
pub fn defer() {
    DEFERRED.store(true, Ordering::Relaxed);
}

/// Returns true after an interrupt.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Records an interrupt. Returns true if the command ends itself.
pub fn request() -> bool {
    REQUESTED.store(true, Ordering::Relaxed);
    DEFERRED.load(Ordering::Relaxed)
}
