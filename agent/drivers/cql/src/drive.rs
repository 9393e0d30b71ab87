//! The run: operations of an open load start at their times, or as soon as fewer are under way;
//! those of a closed load when their user's last one has ended.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::arguments::Run;
use crate::collections::Collections;
use crate::database::{Database, Failure, Target};
use crate::requests::Request;
use crate::schedule::{compute, Draws, Load, Operation, Starts, MOST_OPERATIONS};
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
    /// Operations of the warm-up, which do not count.
    warm_up: usize,
    /// Garbage collections of the server during the run; None if it does not log them, or its log
    /// has lost lines meanwhile.
    collections: Option<Collections>,
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
        // Each operation is about one key, which is one partition.
        let partitions = |writes| {
            let done = |one: &&Request| one.writes == writes && one.error.is_none();
            self.requests.iter().filter(done).count() as f64 / self.seconds
        };
        let (read, written) = (partitions(false), partitions(true));
        let collections = self.collections.as_ref();
        format!(
            "{{\"operations\":{operations},\"errors\":{errors},\"warm_up_operations\":{},\
             \"seconds\":{:.6},\
             \"rate\":{rate:.3},\"partitions\":{:.3},\"partitions_read\":{read:.3},\
             \"partitions_written\":{written:.3},\"late\":{late:.6},\"cpu_seconds\":{:.6}{}}}",
            self.warm_up,
            self.seconds,
            read + written,
            self.cpu_seconds,
            collections.map_or_else(String::new, |found| {
                format!(",{}{}", found.json(), found.statistics())
            })
        )
    }
}

/// Connects, and performs operations until the last one has ended: those of the warm-up, and those
/// that count.
pub async fn run(target: &Target, run: &Run) -> Result<Done, String> {
    let database = Arc::new(Database::connect(target).await?);
    let server = Arc::clone(&database);
    let perform = move |operation| {
        let database = Arc::clone(&server);
        async move { database.perform(operation).await }
    };
    let mut warm_up = 0;
    if run.warm_up_s > 0.0 {
        let seconds = run.warm_up_s;
        // Other operations than those of the seed.
        let load = Load {
            seconds,
            ..run.load
        };
        let (done, _) = start(&load, !run.seed, run.in_flight, perform.clone()).await?;
        warm_up = done.requests.len();
    }
    let before = database.collections().await?;
    let cpu_before = cpu_ns();
    let (mut done, begin) = start(&run.load, run.seed, run.in_flight, perform).await?;
    let end = now_ns();
    done.warm_up = warm_up;
    done.cpu_seconds = (cpu_ns() - cpu_before) as f64 / 1e9;
    done.collections = database
        .collections()
        .await?
        .zip(before)
        .and_then(|(all, before)| all.since(before));
    done.requests
        .sort_unstable_by_key(|one| (one.intended_ns, one.start_ns));
    // A load lasts as long as was asked for, and longer where the last operations end later.
    done.seconds = run.load.seconds.max((end - begin) as f64 / 1e9);
    Ok(done)
}

/// Performs the operations of a load; returns as well when they began.
async fn start<P, F>(
    load: &Load,
    seed: u64,
    in_flight: u32,
    perform: P,
) -> Result<(Done, u64), String>
where
    P: Fn(Operation) -> F + Clone + Send + 'static,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    match load.starts {
        Starts::Closed { users } => closed(*load, users, seed, perform).await,
        Starts::Open { rate, arrivals } => {
            let operations = compute(load, rate, arrivals, seed)?;
            let (done, begin) = open(&operations, in_flight, perform).await?;
            if done.requests.len() != operations.len() {
                let (ended, all) = (done.requests.len(), operations.len());
                return Err(format!(
                    "{ended} of {all} operations were recorded: this is an error in tare"
                ));
            }
            Ok((done, begin))
        }
    }
}

/// Performs operations one after the other for each user, until the time is over.
async fn closed<P, F>(load: Load, users: u32, seed: u64, perform: P) -> Result<(Done, u64), String>
where
    P: Fn(Operation) -> F + Clone + Send + 'static,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let done = Arc::new(Mutex::new(Done::default()));
    let draws = Arc::new(Mutex::new(Draws::new(load, seed)));
    // Growing the vector under the lock would delay all users.
    lock(&done).requests.reserve_exact(1 << 18);
    let begin = now_ns();
    let end = begin + (load.seconds * 1e9) as u64;
    let mut tasks = JoinSet::new();
    for _ in 0..users {
        let (done, draws, perform) = (Arc::clone(&done), Arc::clone(&draws), perform.clone());
        tasks.spawn(async move {
            let mut possible_ns = begin;
            while now_ns() < end && lock(&done).requests.len() < MOST_OPERATIONS {
                let operation = lock(&draws).next(now_ns());
                let intended_ns = operation.intended_ns;
                let work = perform(operation);
                possible_ns = record(&done, work, operation, intended_ns, possible_ns).await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| format!("a user ended early: {error}"))?;
    }
    let done = std::mem::take(&mut *lock(&done));
    if done.requests.len() >= MOST_OPERATIONS {
        return Err(format!(
            "{users} users made {MOST_OPERATIONS} operations before their time was over, which is \
             as many as are kept; lower --users or --seconds"
        ));
    }
    Ok((done, begin))
}

/// Performs one operation, and returns when it ended.
async fn record(
    done: &Mutex<Done>,
    work: impl Future<Output = Result<(), Failure>>,
    operation: Operation,
    intended_ns: u64,
    possible_ns: u64,
) -> u64 {
    let start_ns = now_ns();
    let failure = work.await.err();
    let end_ns = now_ns();
    let mut done = lock(done);
    done.late += usize::from(start_ns - possible_ns > LATE_NS);
    done.requests.push(Request {
        intended_ns,
        start_ns,
        duration_ns: end_ns - start_ns,
        writes: operation.writes,
        error: failure.as_ref().map(|failure| failure.kind),
    });
    if done.first_error.is_none() {
        done.first_error = failure.map(|failure| failure.text);
    }
    end_ns
}

/// Performs operations at their times; returns as well when they began.
async fn open<P, F>(
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
        let (operation, possible_ns) = (*operation, intended_ns.max(freed_ns));
        let (work, done) = (perform(operation), Arc::clone(&done));
        tokio::spawn(async move {
            record(&done, work, operation, intended_ns, possible_ns).await;
            drop(slot);
        });
    }
    let ended = slots.acquire_many(in_flight).await;
    ended.map_err(|error| error.to_string())?.forget();
    let done = std::mem::take(&mut *lock(&done));
    Ok((done, begin))
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (done, begin) = runtime.block_on(open(&operations, 2, perform)).unwrap();
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
    fn users_wait_for_their_answer_and_a_whole_server_is_shared() {
        // A server that answers one operation at a time, and counts them.
        let served = Arc::new((Mutex::new((0, 0)), Semaphore::new(1)));
        let perform = {
            let served = Arc::clone(&served);
            move |operation: Operation| {
                let served = Arc::clone(&served);
                async move {
                    let _one = served.1.acquire().await.unwrap();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    let mut counts = served.0.lock().unwrap();
                    match operation.writes {
                        true => counts.1 += 1,
                        false => counts.0 += 1,
                    }
                    Ok(())
                }
            }
        };
        let load = Load {
            starts: Starts::Closed { users: 8 },
            seconds: 0.2,
            writes: 0.5,
            keys: 10,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (done, _) = runtime.block_on(start(&load, 1, 1, perform)).unwrap();
        let writes = done.requests.iter().filter(|one| one.writes).count();
        assert_eq!(
            *served.0.lock().unwrap(),
            (done.requests.len() - writes, writes)
        );
        // Each of the eight waits for all of the others.
        assert!(done.requests.len() >= 8);
        let mut moments: Vec<(u64, i32)> = Vec::new();
        for one in &done.requests {
            assert_eq!(one.intended_ns.max(one.start_ns), one.start_ns);
            moments.extend([(one.start_ns, 1), (one.start_ns + one.duration_ns, -1)]);
        }
        moments.sort_unstable();
        let mut under_way = 0;
        let most = moments.iter().map(|(_, step)| {
            under_way += step;
            under_way
        });
        assert_eq!(most.max(), Some(8));
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
        let write = Request {
            writes: true,
            ..request
        };
        let done = Done {
            requests: vec![request, request, write, failed],
            first_error: None,
            late: 1,
            seconds: 2.0,
            cpu_seconds: 0.5,
            warm_up: 7,
            collections: None,
        };
        let counted = "{\"operations\":4,\"errors\":1,\"warm_up_operations\":7,\"seconds\":2.000000,\"rate\":2.000,\
             \"partitions\":1.500,\"partitions_read\":1.000,\"partitions_written\":0.500,\
             \"late\":0.250000,\"cpu_seconds\":0.500000";
        assert_eq!(done.summary(), format!("{counted}}}"));
        let collections = Some(Collections {
            number: 2,
            time_ms: 30,
            squares_ms2: 500,
            bytes: 4096,
            oldest: (1, 0),
        });
        assert_eq!(
            Done {
                collections,
                ..done
            }
            .summary(),
            format!(
                "{counted},\"collections\":2,\"collection_ms\":30,\"collection_squares\":500,\
                 \"collection_bytes\":4096,\"collection_mean_ms\":15.000,\
                 \"collection_sd_ms\":5.000}}"
            )
        );
    }
}
