//! What a thread waits for, by the functions of the kernel in which it leaves its CPU.

use std::sync::OnceLock;

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A block device: reads, writes that are waited for, commits of a file system.
    Disk,
    /// A socket, or poll/epoll/select: also an idle server.
    Network,
    /// A lock, a timer, another process, or what is not known.
    Other,
}

/// Functions that only wait for such a thing, whatever they are called by.
const FUNCTIONS: [(&str, Wait); 25] = [
    ("io_schedule", Wait::Disk),
    ("io_schedule_timeout", Wait::Disk),
    ("jbd2_log_wait_commit", Wait::Disk),
    ("balance_dirty_pages", Wait::Disk),
    ("balance_dirty_pages_ratelimited_flags", Wait::Disk),
    ("vfs_fsync_range", Wait::Disk),
    ("__x64_sys_fsync", Wait::Disk),
    ("__arm64_sys_fsync", Wait::Disk),
    ("__x64_sys_fdatasync", Wait::Disk),
    ("__arm64_sys_fdatasync", Wait::Disk),
    ("sk_wait_data", Wait::Network),
    ("sk_stream_wait_memory", Wait::Network),
    ("sk_stream_wait_connect", Wait::Network),
    ("inet_csk_accept", Wait::Network),
    ("inet_stream_connect", Wait::Network),
    ("unix_stream_read_generic", Wait::Network),
    ("unix_accept", Wait::Network),
    ("unix_wait_for_peer", Wait::Network),
    ("__skb_wait_for_more_packets", Wait::Network),
    ("sock_recvmsg", Wait::Network),
    ("do_accept", Wait::Network),
    ("ep_poll", Wait::Network),
    ("do_epoll_wait", Wait::Network),
    ("do_sys_poll", Wait::Network),
    ("do_select", Wait::Network),
];

/// From the first address of each function to the next symbol's, in order.
static RANGES: OnceLock<Vec<(u64, u64, Wait)>> = OnceLock::new();

/// Whether the kernel shows where its functions are; reads that once, which takes some time.
pub fn known() -> bool {
    let symbols = || std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let ranges = RANGES.get_or_init(|| ranges(&symbols()));
    ranges.iter().any(|(_, _, wait)| *wait == Wait::Disk)
}

/// What a thread waits for that left its CPU in these functions, the innermost first.
pub fn of(chain: impl Iterator<Item = u64>) -> Wait {
    RANGES
        .get()
        .map_or(Wait::Other, |ranges| first(ranges, chain))
}

fn first(ranges: &[(u64, u64, Wait)], mut chain: impl Iterator<Item = u64>) -> Wait {
    let found = chain.find_map(|address| {
        let next = ranges.partition_point(|(begin, ..)| *begin <= address);
        let (_, end, wait) = ranges.get(next.checked_sub(1)?)?;
        (address < *end).then_some(*wait)
    });
    found.unwrap_or(Wait::Other)
}

fn ranges(symbols: &str) -> Vec<(u64, u64, Wait)> {
    let mut begins: Vec<(u64, Option<Wait>)> = symbols
        .lines()
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            // Compilers emit clones such as `f.isra.0`; match the name before the dot.
            let name = words.nth(1)?.split('.').next()?;
            let known = FUNCTIONS.iter().find(|(function, _)| *function == name);
            Some((address, known.map(|(_, wait)| *wait)))
        })
        .filter(|(address, _)| *address > 0)
        .collect();
    begins.sort_by_key(|(address, wait)| (*address, wait.is_none()));
    begins.dedup_by_key(|(address, _)| *address);
    let pairs = begins.windows(2);
    pairs
        .filter_map(|pair| Some((pair[0].0, pair[1].0, pair[0].1?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "\
0000000000000100 T schedule
0000000000000200 T io_schedule
0000000000000200 T alias
0000000000000300 t sk_wait_data.isra.0
0000000000000400 T _end
0000000000000500 t ep_poll\t[module]
0000000000000580 t do_select\t[module]
0000000000000600 t last\t[module]
";

    #[test]
    fn the_innermost_function_that_says_it_decides() {
        let ranges = ranges(SYMBOLS);
        let of = |chain: &[u64]| first(&ranges, chain.iter().copied());
        assert_eq!(of(&[0x110, 0x2ff, 0x310]), Wait::Disk);
        assert_eq!(of(&[0x110, 0x300, 0x250]), Wait::Network);
        assert_eq!(of(&[0x110, 0x510]), Wait::Network);
        assert_eq!(of(&[0x110, 0x590]), Wait::Network);
        assert_eq!(of(&[0x110, 0x1ff, 0x400, 0x600]), Wait::Other);
        assert_eq!(of(&[]), Wait::Other);
        // Addresses are hidden.
        assert!(super::ranges("0000000000000000 T io_schedule\n").is_empty());
    }
}
