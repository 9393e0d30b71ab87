//! The run: every operation starts at its time, or as soon as fewer are under way.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::arguments::Run;
use crate::database::{self, Database, Target};
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

/// Connects, and performs operations until the last one has ended.
pub async fn run(target: &Target, run: &Run, operations: Vec<Operation>) -> Result<Done, String> {
    let database = Arc::new(Database::connect(target).await?);
    let failed = |error| format!("cannot wait for the time of an operation: {error}");
    let timer = Timer::new().map_err(failed)?;
    let done = Arc::new(Mutex::new(Done::default()));
    lock(&done).requests.reserve_exact(operations.len());
    let slots = Arc::new(Semaphore::new(run.in_flight as usize));

    let cpu_before = cpu_ns();
    let begin = now_ns() + LEAD_NS;
    let mut freed_ns = 0;
    for operation in &operations {
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
        let (database, done) = (Arc::clone(&database), Arc::clone(&done));
        let (operation, possible_ns) = (*operation, intended_ns.max(freed_ns));
        tokio::spawn(async move {
            let (request, error) = perform(&database, operation, intended_ns).await;
            let mut done = lock(&done);
            done.late += usize::from(request.start_ns - possible_ns > LATE_NS);
            done.requests.push(request);
            if done.first_error.is_none() {
                done.first_error = error;
            }
            drop(slot);
        });
    }
    let all = slots.acquire_many(run.in_flight).await;
    all.map_err(|error| error.to_string())?.forget();

    let end = now_ns();
    let mut done = std::mem::take(&mut *lock(&done));
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

async fn perform(
    database: &Database,
    operation: Operation,
    intended_ns: u64,
) -> (Request, Option<String>) {
    let key = operation.key;
    let value = database::value(intended_ns);
    let start_ns = now_ns();
    let found = match operation.writes {
        true => database.write(key, &value).await,
        false => database.read(key).await,
    };
    let end_ns = now_ns();
    let (error, text) = match found {
        Ok(()) => (None, None),
        Err(failure) => (Some(failure.kind), Some(failure.text)),
    };
    let request = Request {
        intended_ns,
        start_ns,
        duration_ns: end_ns - start_ns,
        writes: operation.writes,
        error,
    };
    (request, text)
}

fn lock(done: &Mutex<Done>) -> std::sync::MutexGuard<'_, Done> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

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
