//! The same work on many things, on several cores.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// How many workers the machine has room for.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// What `work` makes of each item, in the items' order, whoever made it. So many workers take one item after the other,
/// the caller's thread among them.
pub fn map<T: Send, R: Send>(items: Vec<T>, workers: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let workers = workers.min(items.len());
    let items = Mutex::new(items.into_iter().enumerate());
    let worker = || {
        let mut done = Vec::new();
        loop {
            let item = items.lock().unwrap_or_else(PoisonError::into_inner).next();
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

/// What a thread made; its panic becomes the caller's.
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
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
