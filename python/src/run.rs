//! Long work without the global lock of Python, which Ctrl-C ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pte_emit::run::StopFlag;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Time between two looks for a signal.
const TICK: Duration = Duration::from_millis(20);

/// Stack of the thread that works, in bytes: as much as the main thread of a process has.
const STACK: usize = 8 << 20;

/// Says whether the caller has given up, after Ctrl-C.
#[derive(Clone, Default)]
pub struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Returns true if the caller no longer waits for the result.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Returns the flag for work that ends early when it is set.
    pub fn flag(&self) -> StopFlag {
        self.0.clone().into()
    }
}

/// Does the work in a thread of its own, and looks for signals meanwhile. After Ctrl-C it returns at once: the thread
/// goes on until it is done, and its result is dropped. Work that writes files looks at [`Abandoned`] before it commits
/// them.
///
/// # Errors
/// `KeyboardInterrupt`, or what another handler of a signal raises; `RuntimeError` for a defect of the library.
pub fn run<T: Send + 'static>(py: Python<'_>, work: impl FnOnce(&Abandoned) -> T + Send + 'static) -> PyResult<T> {
    let abandoned = Abandoned::default();
    let seen = abandoned.clone();
    let (done, mut result) = mpsc::sync_channel(1);
    let worker = thread::Builder::new().name("pte-emit".to_owned()).stack_size(STACK).spawn(move || {
        // After Ctrl-C there is no receiver.
        let _ = done.send(work(&seen));
    })?;
    loop {
        let received;
        (received, result) = py.detach(move || (result.recv_timeout(TICK), result));
        match received {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| abandoned.0.store(true, Ordering::Release))?
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = py.detach(|| worker.join()).err();
                let text = panic.as_ref().and_then(|panic| {
                    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
                });
                let message = format!("defect of pte-emit, please report it: {}", text.unwrap_or("unknown"));
                return Err(PyRuntimeError::new_err(message));
            }
        }
    }
}

/// Does work that can fail with an error of the library, as [`run`].
///
/// # Errors
/// Those of [`run`]; `pte_emit.Error`.
pub fn attempt<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Abandoned) -> Result<T, pte_emit::Error> + Send + 'static,
) -> PyResult<T> {
    run(py, work)?.map_err(|error| super::error::raised(py, &error))
}
