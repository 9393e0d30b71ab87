//! What a page fault costs, each as the kernel counts it.
//!
//! A touch is no fault: for a file's page the kernel maps its neighbours as well
//! ("fault-around"), so that most touches meet a page that is already there. Here the kernel's
//! own count is read before and after, and where it is not what was touched nothing is reported.

use record::Effort;
use sys::clock;
use sys::pages::{Buffer, Pages};
use sys::usage;

use crate::affinity::pin;
use crate::chase::shuffle;
use crate::fault_count::{agree, count, Count};
use crate::mapped_file::{advise, cold, program, MappedFile};
use crate::partner::Partner;
use crate::pipe::Pipe;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::processes::refusal;

/// A metric in nanoseconds.
const fn cost(name: &'static str, meaning: &'static str, margin: f64) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin,
    }
}

pub const PROBE: Probe = Probe {
    name: "fault",
    title: "page faults",
    question: "What does the first touch of a page cost, wherever the page comes from?",
    source: Some("SYSMEASURE, page fault service time; lmbench lat_pagefault"),
    metrics: &[
        cost(
            "fault.minor_anonymous",
            "One small page of memory (4 KiB on most machines), made and zeroed at its first \
             write, as the kernel counts faults; the kernel was given back such pages just \
             before; least of windows",
            0.1,
        ),
        cost(
            "fault.minor_file",
            "One page of a file that is in memory, mapped at its first read without its \
             neighbours (each page is a mapping of its own), as the kernel counts faults; least \
             of windows",
            0.1,
        ),
        cost(
            "fault.minor_file_around",
            "One touch, not one fault, of a file that is in memory and mapped as a whole: the \
             kernel maps neighbours along, so that most touches are none. The figure of tools \
             that divide by touches; least of windows",
            0.15,
        ),
        Metric {
            unit: "1",
            better: Better::Neither,
            ..cost(
                "fault.touches_per_fault",
                "Touches that one fault served in fault.minor_file_around: the product is what a \
                 fault cost there",
                0.05,
            )
        },
        cost(
            "fault.copy_on_write",
            "One small page copied at its first write after a fork, as the kernel counts faults; \
             least of windows",
            0.1,
        ),
        cost(
            "fault.huge",
            "One transparent huge page (2 MiB on most machines), made and zeroed at its first \
             write; least of windows",
            0.15,
        ),
        cost(
            "fault.major",
            "One page of a file that is on the disk only, read at its first touch, as the kernel \
             counts major faults: nothing is read ahead; median of faults in random places",
            0.25,
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.2),
        whole: Some(0.6),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Pages of one window: some 200 microseconds.
const PAGES: usize = 256;

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let share = round.budget_ns() / 8;
    let single = |metric: &str, count: Result<Count, String>| match count
        .and_then(|count| count.per_fault())
    {
        Ok(cost) => round.read(metric, cost),
        Err(why) => round.unavailable(metric, why),
    };
    single("fault.minor_anonymous", anonymous(share));
    single("fault.minor_file", file(share));
    match around(share) {
        Ok(count) => {
            round.read("fault.minor_file_around", count.least);
            round.read("fault.touches_per_fault", count.touches_per_fault());
        }
        Err(why) => round.unavailable("fault.minor_file_around", why),
    }
    single("fault.copy_on_write", copy_on_write(share));
    single("fault.huge", huge(round, share));
    match major(round, share) {
        Ok(cost) => round.read("fault.major", cost),
        Err(why) => round.unavailable("fault.major", why),
    }
    Ok(())
}

fn anonymous(budget_ns: i64) -> Result<Count, String> {
    let buffer = Buffer::new(PAGES * Pages::Small.bytes(), Pages::Small)?;
    count(budget_ns, PAGES, || give_back(&buffer), || write(&buffer))
}

fn file(budget_ns: i64) -> Result<Count, String> {
    let mapped = MappedFile::single(&program()?, PAGES)?;
    file_windows(budget_ns, &mapped)
}

fn around(budget_ns: i64) -> Result<Count, String> {
    let mapped = MappedFile::whole(&program()?)?;
    let count = file_windows(budget_ns, &mapped)?;
    match count.major {
        0 => Ok(count),
        major => Err(format!(
            "the file is not kept in memory: {major} major faults"
        )),
    }
}

fn file_windows(budget_ns: i64, mapped: &MappedFile) -> Result<Count, String> {
    let fresh = || mapped.advise(libc::MADV_DONTNEED);
    let touch = || (0..mapped.count()).for_each(|index| mapped.touch(index));
    count(budget_ns, mapped.count(), fresh, touch)
}

fn copy_on_write(budget_ns: i64) -> Result<Count, String> {
    let buffer = Buffer::new(PAGES * Pages::Small.bytes(), Pages::Small)?;
    let pipe = Pipe::new().map_err(|error| format!("no pipe to be had: {error}"))?;
    let mut sharer = None;
    let fresh = || {
        // The one before is gone first, so that each page has two holders and no more.
        sharer = None;
        let child = Partner::start(|| {
            pipe.put();
            // SAFETY: waits for the signal that ends it.
            unsafe { libc::pause() };
        });
        sharer =
            Some(child.map_err(|error| format!("no child to share with: {}", refusal(error)))?);
        // It is not to want the CPU later.
        match pipe.take() {
            true => Ok(()),
            false => Err("the child is gone".to_string()),
        }
    };
    count(budget_ns, PAGES, fresh, || write(&buffer))
}

fn huge(round: &Round, budget_ns: i64) -> Result<Count, String> {
    let page = Pages::Huge.bytes();
    if page as u64 > round.job.memory_bytes {
        let most = round.job.memory_bytes;
        return Err(format!(
            "a huge page is {page} bytes, and {most} are allowed"
        ));
    }
    let buffer = Buffer::new(page, Pages::Huge)?;
    // A second touch, in the middle, would find a small page missing.
    let touch = || {
        for offset in [0, page / 2] {
            // SAFETY: inside the buffer.
            unsafe { buffer.start().add(offset).write_volatile(1) };
        }
    };
    count(budget_ns, 1, || give_back(&buffer), touch)
}

/// Median of single faults.
fn major(round: &Round, budget_ns: i64) -> Result<f64, String> {
    let directory = round.job.directory.as_deref();
    let directory = directory.ok_or("no directory for files was given: --directory DIR")?;
    let most = round.job.file_bytes as usize / Pages::Small.bytes();
    let pages = match round.job.effort {
        Effort::Whole => most.min(2048),
        _ => most.min(512),
    };
    if pages < 16 {
        return Err("fewer than 16 pages may be written to a file: --files 1MiB".to_string());
    }
    let mut random = round.random();
    let mapped = MappedFile::whole(&cold(directory, pages, &mut random)?)?;
    mapped.advise(libc::MADV_RANDOM)?;
    let mut order: Vec<usize> = (0..pages).collect();
    shuffle(&mut order, &mut random);
    let mut times = Vec::with_capacity(pages);
    let before = usage::own_thread();
    let end = clock::monotonic() + budget_ns;
    for index in order {
        let start = clock::monotonic();
        if start > end && times.len() >= 16 {
            break;
        }
        mapped.touch(index);
        times.push(clock::monotonic() - start);
    }
    let counted = usage::own_thread().major_faults - before.major_faults;
    let touches = times.len() as i64;
    if !agree(counted, touches) {
        return Err(format!(
            "{touches} pages of a file that was sent out of memory were touched, but the kernel \
             counted {counted} major faults: {directory} keeps its files in memory"
        ));
    }
    times.sort_unstable();
    Ok(times[times.len() / 2] as f64)
}

/// Writes to every page.
fn write(buffer: &Buffer) {
    for offset in (0..buffer.length()).step_by(buffer.page()) {
        // SAFETY: inside the buffer.
        unsafe { buffer.start().add(offset).write_volatile(1) };
    }
}

fn give_back(buffer: &Buffer) -> Result<(), String> {
    advise(buffer.start(), buffer.length(), libc::MADV_DONTNEED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_touch_of_a_fresh_page_is_a_fault_that_the_kernel_counts() {
        for count in [anonymous(0), file(0), copy_on_write(0)] {
            let count = count.unwrap();
            assert!(count.touches >= 5, "{count:?}");
            assert!(count.per_fault().unwrap() > 0.0, "{count:?}");
        }
    }

    #[test]
    fn most_touches_of_a_file_are_no_faults() {
        let count = around(0).unwrap();
        assert!(count.touches_per_fault() > 1.5, "{count:?}");
        assert!(count.per_fault().is_err());
    }
}
