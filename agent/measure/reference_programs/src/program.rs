//! How a program describes itself, what it knows of its start, and how it tells its truth.

use std::io::Write;

use crate::stamp::Stamp;

/// A program, as its file describes it.
pub struct Program {
    pub name: &'static str,
    /// What it does, so many times or for so long.
    pub title: &'static str,
    /// Of the number after its name.
    pub unit: &'static str,
    /// Whether it tells a truth at its end; otherwise that is known before.
    pub tells: bool,
    pub run: fn(&Opening, i64) -> Result<Never, String>,
}

/// Every program ends in its own way.
pub enum Never {}

/// How a program came to be: what it stamped before and after it executed itself.
#[derive(Clone)]
pub struct Opening {
    /// In its first line; everything before it was the kernel's and the loader's.
    pub first: Stamp,
    /// Just before the second exec, and in the first line after it.
    pub before: Stamp,
    pub begun: Stamp,
}

impl Opening {
    /// Ends the program with what it knows: values by tare's own name of the metric, with the
    /// source after a point where a source sees something else.
    pub fn tell(&self, own: &[(&str, i64)]) -> ! {
        let mut line = String::with_capacity(1024);
        let launch = self.begun.since(&self.before);
        let launch = [
            ("wall_ns", launch.wall_ns),
            ("cpu_ns", launch.cpu_ns),
            ("minor_faults", launch.minor_faults),
            ("voluntary_switches", launch.voluntary_switches),
        ];
        line.push_str("{\"own\":");
        object(&mut line, own);
        line.push_str(",\"launch\":");
        object(&mut line, &launch);
        line.push_str("}\n");
        let mut output = std::io::stdout().lock();
        let kept = output
            .write_all(line.as_bytes())
            .and_then(|()| output.flush());
        // SAFETY: ends all threads; nothing is left to be written.
        unsafe { libc::_exit(i32::from(kept.is_err())) }
    }

    /// The same with the wall and CPU time from the first line until now.
    pub fn tell_until(&self, end: &Stamp, more: &[(&str, i64)]) -> ! {
        let used = end.since(&self.first);
        let times = [("wall_ns", used.wall_ns), ("cpu_ns", used.cpu_ns)];
        self.tell(&[&times, more].concat())
    }
}

fn object(line: &mut String, values: &[(&str, i64)]) {
    for (number, (name, value)) in values.iter().enumerate() {
        line.push_str(if number == 0 { "{\"" } else { ",\"" });
        line.push_str(name);
        line.push_str("\":");
        line.push_str(&value.to_string());
    }
    line.push_str(if values.is_empty() { "{}" } else { "}" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_json() {
        let mut line = String::new();
        object(&mut line, &[("wall_ns", 5), ("cpu_ns.rusage", -1)]);
        assert_eq!(line, r#"{"wall_ns":5,"cpu_ns.rusage":-1}"#);
        line.clear();
        object(&mut line, &[]);
        assert_eq!(line, "{}");
    }
}
