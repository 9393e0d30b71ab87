//! What it costs to make a thread and to see it end.

use std::io;
use std::ptr;

use sys::{clock, usage};

use crate::affinity::pin;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::processes::refusal;
use crate::timing::{windows, windows_of_part};

pub const PROBE: Probe = Probe {
    name: "thread",
    title: "making threads",
    question: "What does a new thread cost: its creation alone, and with the join?",
    source: Some("SYSMEASURE, creation of kernel threads"),
    metrics: &[
        Metric {
            name: "thread.create",
            unit: "ns",
            meaning: "pthread_create of a thread that returns at once, until pthread_create \
                      returns: the thread's life and the join are not in it. Both on one CPU; \
                      the C library has a stack left from the one before; least of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
        Metric {
            name: "thread.create_join",
            unit: "ns",
            meaning: "pthread_create of a thread that returns at once, until pthread_join \
                      returns, both on one CPU; the C library has a stack left from the one \
                      before; least of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
        Metric {
            name: "thread.create_join_cold",
            unit: "ns",
            meaning: "The same where the stack is mapped anew and given back (64 MiB, of which \
                      what is touched is made: more than the C library keeps)",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.06),
        whole: Some(0.3),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// More than the 40 MiB of stacks that glibc keeps, so that none of this size is.
const LARGE_STACK: usize = 64 << 20;

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let share = round.budget_ns() / 3;
    round.read("thread.create", time_until_return(share)?);
    let (warm, _) = time(share, &Attributes::new(None)?)?;
    round.read("thread.create_join", warm);
    let metric = "thread.create_join_cold";
    match Attributes::new(Some(LARGE_STACK)).and_then(|large| time(share, &large)) {
        Ok((cold, faults)) if faults >= 1.0 => round.read(metric, cold),
        Ok(_) => round.unavailable(metric, "this C library keeps stacks of any size"),
        Err(why) => round.unavailable(metric, why),
    }
    Ok(())
}

/// Least time of a thread's life, and page faults in the mean of one.
fn time(budget_ns: i64, attributes: &Attributes) -> Result<(f64, f64), String> {
    live(attributes).map_err(refusal)?;
    let (mut failed, mut threads) = (None, 0);
    let before = usage::own().minor_faults;
    let windows = windows(budget_ns, |operations| {
        threads += operations;
        for _ in 0..operations {
            failed = live(attributes).err().or(failed.take());
        }
    });
    let faults = usage::own().minor_faults - before;
    match failed {
        None => Ok((windows.least, faults as f64 / threads as f64)),
        Some(error) => Err(refusal(error)),
    }
}

/// Least time until the creation of a thread returns; the thread is joined thereafter.
fn time_until_return(budget_ns: i64) -> Result<f64, String> {
    let attributes = Attributes::new(None)?;
    live(&attributes).map_err(refusal)?;
    let mut failed = None;
    let windows = windows_of_part(budget_ns, |operations| {
        let mut taken = 0;
        for _ in 0..operations {
            let start = clock::monotonic();
            let thread = create(&attributes);
            taken += clock::monotonic() - start;
            failed = thread.map(join).err().or(failed.take());
        }
        taken
    });
    match failed {
        None => Ok(windows.least),
        Some(error) => Err(refusal(error)),
    }
}

/// One thread, from its creation to its join.
fn live(attributes: &Attributes) -> io::Result<()> {
    create(attributes).map(join)
}

/// Starts a thread that returns at once.
fn create(attributes: &Attributes) -> io::Result<libc::pthread_t> {
    extern "C" fn nothing(_: *mut libc::c_void) -> *mut libc::c_void {
        ptr::null_mut()
    }
    // SAFETY: the attributes are initialised.
    unsafe {
        let mut thread: libc::pthread_t = std::mem::zeroed();
        match libc::pthread_create(&mut thread, &attributes.0, nothing, ptr::null_mut()) {
            0 => Ok(thread),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

fn join(thread: libc::pthread_t) {
    // SAFETY: made by `create`, and joined once.
    unsafe { libc::pthread_join(thread, ptr::null_mut()) };
}

struct Attributes(libc::pthread_attr_t);

impl Attributes {
    /// The usual ones, but for the size of the stack.
    fn new(stack: Option<usize>) -> Result<Self, String> {
        // SAFETY: initialised before anything else is done with them.
        unsafe {
            let mut attributes = std::mem::zeroed();
            let mut error = libc::pthread_attr_init(&mut attributes);
            if let (0, Some(stack)) = (error, stack) {
                error = libc::pthread_attr_setstacksize(&mut attributes, stack);
            }
            match error {
                0 => Ok(Self(attributes)),
                error => Err(io::Error::from_raw_os_error(error).to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_be_had_is_told() {
        // More than any machine's addresses.
        let endless = Attributes::new(Some(1 << 60)).unwrap();
        assert!(time(0, &endless).is_err());
        let (taken, _) = time(0, &Attributes::new(None).unwrap()).unwrap();
        assert!(taken > 0.0);
        assert!(time_until_return(0).unwrap() > 0.0);
    }

    #[test]
    fn a_stack_that_is_not_kept_is_faulted_in_each_time() {
        let (_, faults) = time(0, &Attributes::new(Some(LARGE_STACK)).unwrap()).unwrap();
        assert!(faults >= 1.0, "{faults}");
    }
}
