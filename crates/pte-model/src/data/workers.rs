//! Parallel iteration on several threads. Results have the order of the items, on every machine.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// True if work may run on other threads than the caller's. They do not have the files of a host.
#[doc(hidden)]
pub const HAS_THREADS: bool = !super::files::IS_HOSTED;

/// Returns the number of available cores, at least 1.
pub fn cores() -> usize {
    if !HAS_THREADS {
        return 1;
    }
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Applies `work` to each item on `workers` threads, including the caller's. Returns the results in the order of the
/// items.
///
/// ```
/// use pte_model::data::workers;
///
/// assert_eq!(workers::map(vec![1, 2, 3], workers::cores(), |number| number * 2), [2, 4, 6]);
/// ```
pub fn map<T: Send, R: Send>(items: Vec<T>, workers: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let workers = if HAS_THREADS { workers.min(items.len()) } else { 1 };
    let items = Mutex::new(items.into_iter().enumerate());
    let worker = || {
        let mut done = Vec::new();
        loop {
            let item = lock(&items).next();
            let Some((index, item)) = item else { return done };
            done.push((index, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(worker)).collect();
        let mut done = worker();
        for other in others {
            done.append(&mut join(other));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` for each number below `count` on `workers` threads, each with its own state. After an error no further
/// number is started.
///
/// # Errors
/// The error of the smallest number that failed.
#[doc(hidden)]
pub fn each<S: Default>(
    count: u64,
    workers: usize,
    work: impl Fn(&mut S, u64) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let (next, failed) = (AtomicU64::new(0), Mutex::new(None::<(u64, io::Error)>));
    let worker = || {
        let mut state = S::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            if let Err(error) = work(&mut state, number) {
                next.fetch_max(count, Ordering::Relaxed);
                let mut failed = lock(&failed);
                if failed.as_ref().is_none_or(|(before, _)| number < *before) {
                    *failed = Some((number, error));
                }
                return;
            }
        }
    };
    let others = if HAS_THREADS { workers } else { 1 };
    let others = others.min(usize::try_from(count).unwrap_or(others)).saturating_sub(1);
    thread::scope(|scope| {
        (0..others).for_each(|_| drop(scope.spawn(worker)));
        worker();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

/// Number of finished results that a worker may queue.
const AHEAD: usize = 16;

/// Applies `work` to each item on `workers` threads, and passes the results to `take` in the order of the items.
///
/// # Errors
/// The first error of `take`, which stops the workers.
#[doc(hidden)]
pub fn in_order<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R) -> io::Result<()>,
) -> io::Result<()> {
    let workers = workers.min(items.len());
    if workers < 2 || !HAS_THREADS {
        return items.iter().try_for_each(|item| take(work(item)));
    }
    thread::scope(|scope| {
        let lane = |first: usize| {
            let (sender, receiver) = sync_channel(AHEAD);
            let work = &work;
            // Sending fails after an error of `take`, which drops the receivers.
            scope.spawn(move || {
                items[first..].iter().step_by(workers).try_for_each(|item| sender.send(work(item)).ok())
            });
            receiver
        };
        let lanes: Vec<_> = (0..workers).map(lane).collect();
        // A worker that ends early has panicked; the scope propagates the panic.
        (0..items.len()).try_for_each(|number| take(lanes[number % workers].recv().map_err(io::Error::other)?))
    })
}

/// Calls both functions, the first on another thread if `parallel` is true.
#[doc(hidden)]
pub fn both<A: Send, B>(parallel: bool, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if !parallel || !HAS_THREADS {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (join(first), second)
    })
}

/// Locks a mutex, even if another thread panicked while it held the lock: that panic propagates from the other thread.
///
/// ```
/// let mutex = std::sync::Mutex::new(1);
/// *pte_model::data::workers::lock(&mutex) += 1;
/// assert_eq!(mutex.into_inner().unwrap(), 2);
/// ```
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the result of a thread, and propagates its panic.
#[doc(hidden)]
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    #[test]
    fn each_number_is_processed_once_and_the_first_error_is_returned() {
        for workers in [0, 1, 2, 7] {
            let done = Mutex::new(Vec::new());
            let work = |own: &mut u64, number: u64| {
                *own += 1;
                done.lock().unwrap().push(number);
                if number >= 90 { Err(io::Error::other(number.to_string())) } else { Ok(()) }
            };
            super::each(90, workers, work).unwrap();
            let mut numbers = std::mem::take(&mut *done.lock().unwrap());
            numbers.sort_unstable();
            assert_eq!(numbers, (0..90).collect::<Vec<_>>());
            assert_eq!(super::each(1000, workers, work).unwrap_err().to_string(), "90");
            assert!(done.lock().unwrap().len() < 90 + workers.max(2), "no number is started after an error");
        }
    }

    #[test]
    fn results_are_taken_in_order_up_to_an_error() {
        let items: Vec<u32> = (0..1000).collect();
        for workers in [0, 1, 2, 7] {
            let mut taken = Vec::new();
            let full = super::in_order(
                &items,
                workers,
                |item| item * 2,
                |made| {
                    taken.push(made);
                    if made == 1200 { Err(io::Error::other("full")) } else { Ok(()) }
                },
            );
            assert_eq!(full.unwrap_err().to_string(), "full");
            assert_eq!(taken, (0..=600).map(|item| item * 2).collect::<Vec<u32>>());
        }
        super::in_order(&[], 2, |item: &u32| *item, |_| Err(io::Error::other("nothing"))).unwrap();
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        for workers in [0, 1, 2, 7] {
            let doubled = super::map(items.clone(), workers, |item| item * 2);
            assert!(doubled.iter().zip(&items).all(|(doubled, item)| *doubled == item * 2), "{workers}");
            assert_eq!(doubled.len(), items.len());
        }
    }
}
