//! The run: every operation starts at its time, or as soon as fewer are under way.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::arguments::Run;
use crate::database::{Database, Failure, Target};
use crate::requests::Request;
use crate::schedule::Operation;
use crate::timer::{cpu_ns, now_ns, Timer};

/// Until the first operation, so that it does not begin late.
const LEAD_NS: u64 = 20_000_000;
/// A start that is later than this after it could have been is counted as late.
const LATE_NS: u64 = 1_000_000;

/// What a run came to.
#[derive(Debug, Default)]
pub struct Done {
    /// In the order of their intended times.
    pub requests: Vec<Request>,
    pub first_error: Option<String>,
    /// How many this program itself started late.
    late: usize,
    seconds: f64,
    cpu_seconds: f64,
}

impl Done {
    pub fn errors(&self) -> usize {
        self.requests
            .iter()
            .filter(|one| one.error.is_some())
            .count()
    }

    /// The run in one line of JSON.
    pub fn summary(&self) -> String {
        let (operations, errors) = (self.requests.len(), self.errors());
        let rate = operations as f64 / self.seconds;
        let late = self.late as f64 / operations as f64;
        format!(
            "{{\"operations\":{operations},\"errors\":{errors},\"seconds\":{:.6},\
             \"rate\":{rate:.3},\"late\":{late:.6},\"cpu_seconds\":{:.6}}}",
            self.seconds, self.cpu_seconds
        )
    }
}

/// Connects, and performs operations until the last one has ended: those that come before, and
/// those that count.
pub async fn run(
    target: &Target,
    run: &Run,
    before: &[Operation],
    operations: &[Operation],
) -> Result<Done, String> {
    let database = Arc::new(Database::connect(target).await?);
    let perform = |operation| {
        let database = Arc::clone(&database);
        async move { database.perform(operation).await }
    };
    all(before, run.in_flight, perform).await?;
    let cpu_before = cpu_ns();
    let (mut done, begin) = all(operations, run.in_flight, perform).await?;
    let end = now_ns();
    if done.requests.len() != operations.len() {
        let (ended, all) = (done.requests.len(), operations.len());
        return Err(format!(
            "{ended} of {all} operations were recorded: this is an error in tare"
        ));
    }
    done.requests
        .sort_unstable_by_key(|one| (one.intended_ns, one.start_ns));
    // An open load lasts as long as was asked for, and longer where the last ones end later.
    done.seconds = run.load.seconds.max((end - begin) as f64 / 1e9);
    done.cpu_seconds = (cpu_ns() - cpu_before) as f64 / 1e9;
    Ok(done)
}

/// Performs all operations; returns as well when they began.
async fn all<P, F>(
    operations: &[Operation],
    in_flight: u32,
    perform: P,
) -> Result<(Done, u64), String>
where
    P: Fn(Operation) -> F,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let failed = |error| format!("cannot wait for the time of an operation: {error}");
    let timer = Timer::new().map_err(failed)?;
    let done = Arc::new(Mutex::new(Done::default()));
    lock(&done).requests.reserve_exact(operations.len());
    let slots = Arc::new(Semaphore::new(in_flight as usize));
    let begin = now_ns() + LEAD_NS;
    let mut freed_ns = 0;
    for operation in operations {
        let intended_ns = begin + operation.intended_ns;
        timer.until(intended_ns).await.map_err(failed)?;
        let slot = match Arc::clone(&slots).try_acquire_owned() {
            Ok(slot) => slot,
            Err(_) => {
                let slot = Arc::clone(&slots).acquire_owned().await;
                freed_ns = now_ns();
                slot.map_err(|error| error.to_string())?
            }
        };
        let (writes, possible_ns) = (operation.writes, intended_ns.max(freed_ns));
        let (work, done) = (perform(*operation), Arc::clone(&done));
        tokio::spawn(async move {
            let start_ns = now_ns();
            let failure = work.await.err();
            let request = Request {
                intended_ns,
                start_ns,
                duration_ns: now_ns() - start_ns,
                writes,
                error: failure.as_ref().map(|failure| failure.kind),
            };
            let mut done = lock(&done);
            done.late += usize::from(start_ns - possible_ns > LATE_NS);
            done.requests.push(request);
            if done.first_error.is_none() {
                done.first_error = failure.map(|failure| failure.text);
            }
            drop(slot);
        });
    }
    let ended = slots.acquire_many(in_flight).await;
    ended.map_err(|error| error.to_string())?.forget();
    let done = std::mem::take(&mut *lock(&done));
    Ok((done, begin))
}

fn lock(done: &Mutex<Done>) -> std::sync::MutexGuard<'_, Done> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_finds_no_slot_waits_and_is_late_but_never_skipped() {
        let operations: Vec<Operation> = (0..20)
            .map(|number| Operation {
                intended_ns: number * 1_000_000,
                key: number as u32,
                writes: number % 2 == 0,
            })
            .collect();
        let (under_way, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let counts = Arc::new((under_way, most));
        let perform = |operation: Operation| {
            let counts = Arc::clone(&counts);
            async move {
                let now = counts.0.fetch_add(1, Relaxed) + 1;
                counts.1.fetch_max(now, Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
                counts.0.fetch_sub(1, Relaxed);
                match operation.key {
                    7 => Err(Failure {
                        kind: "timeout",
                        text: "too long".to_string(),
                    }),
                    _ => Ok(()),
                }
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (done, begin) = runtime.block_on(all(&operations, 2, perform)).unwrap();
        assert_eq!(counts.1.load(Relaxed), 2);
        assert_eq!(done.first_error.as_deref(), Some("too long"));
        assert_eq!(done.errors(), 1);
        let mut requests = done.requests;
        requests.sort_unstable_by_key(|one| one.intended_ns);
        let intended: Vec<u64> = requests.iter().map(|one| one.intended_ns - begin).collect();
        let expected: Vec<u64> = operations.iter().map(|one| one.intended_ns).collect();
        assert_eq!(intended, expected);
        assert!(requests.iter().all(|one| one.duration_ns >= 20_000_000));
        // The last pair starts after nine others.
        assert!(requests[19].start_ns - begin >= 180_000_000);
        assert_eq!(requests[7].error, Some("timeout"));
        assert!(requests[0].writes && !requests[1].writes);
    }

    #[test]
    fn a_run_is_summed_up_in_a_line_of_json() {
        let request = Request {
            intended_ns: 0,
            start_ns: 0,
            duration_ns: 1,
            writes: false,
            error: None,
        };
        let failed = Request {
            error: Some("timeout"),
            ..request
        };
        let done = Done {
            requests: vec![request, request, request, failed],
            first_error: None,
            late: 1,
            seconds: 2.0,
            cpu_seconds: 0.5,
        };
        assert_eq!(
            done.summary(),
            "{\"operations\":4,\"errors\":1,\"seconds\":2.000000,\"rate\":2.000,\
             \"late\":0.250000,\"cpu_seconds\":0.500000}"
        );
    }
}
