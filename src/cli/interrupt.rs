//! Interrupts (Ctrl-C): a command that has a result so far, or processes to end, is notified; others end at once.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use pte_emit::run::StopFlag;

static DEFERRED: AtomicBool = AtomicBool::new(false);
static REQUESTED: LazyLock<StopFlag> = LazyLock::new(StopFlag::default);

/// From now on an interrupt does not end the process: the command ends when [`is_requested`] returns true.
pub fn defer() {
    DEFERRED.store(true, Ordering::Relaxed);
}

/// Reads what may never end, such as standard input: an interrupt ends the process at once.
pub fn at_once<T>(read: impl FnOnce() -> T) -> T {
    let was_deferred = DEFERRED.swap(false, Ordering::Relaxed);
    let found = read();
    DEFERRED.store(was_deferred, Ordering::Relaxed);
    found
}

/// Returns true after an interrupt.
pub fn is_requested() -> bool {
    REQUESTED.is_set()
}

/// Returns the flag that an interrupt sets.
pub fn flag() -> StopFlag {
    REQUESTED.clone()
}

/// Records an interrupt. Returns true if the command ends itself.
pub fn request() -> bool {
    REQUESTED.set();
    DEFERRED.load(Ordering::Relaxed)
}
