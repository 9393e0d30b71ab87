//! Where groups of the second version can have controllers: never beside processes, so the agent
//! itself moves into a leaf of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cgroup::place::{places, unified, Place};

const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// The leaf in which the agent lives, left and removed when dropped.
pub struct Leaf {
    base: PathBuf,
    /// None in the machine's root, where processes and controllers get along.
    leaf: Option<PathBuf>,
    enabled: Vec<&'static str>,
}

impl Leaf {
    /// Makes one where that gives workers controllers that they would not have otherwise.
    pub fn make(name: &str) -> Option<Self> {
        let base = unified(&places("self"))?.directory.clone();
        Self::of(&base, name, &CONTROLLERS).ok().flatten()
    }

    /// Has these controllers of those that a group has for groups below it; None: it has already.
    pub fn of(base: &Path, name: &str, controllers: &[&'static str]) -> io::Result<Option<Self>> {
        let wanted: Vec<_> = controllers
            .iter()
            .copied()
            .filter(|wanted| lists(&base.join("cgroup.controllers"), wanted))
            .filter(|wanted| !lists(&base.join("cgroup.subtree_control"), wanted))
            .collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        // The root of all groups alone has no type.
        let root = !base.join("cgroup.type").exists();
        let mut leaf = Self {
            leaf: (!root).then(|| base.join(leaf_name(name))),
            base: base.to_path_buf(),
            enabled: Vec::new(),
        };
        leaf.settle(wanted)?;
        Ok(Some(leaf))
    }

    /// Fails where others live in the group too; then everything is as it was.
    fn settle(&mut self, wanted: Vec<&'static str>) -> io::Result<()> {
        if let Some(leaf) = &self.leaf {
            fs::create_dir(leaf)?;
            enter(leaf)?;
        }
        for controller in wanted {
            self.switch('+', controller)?;
            self.enabled.push(controller);
        }
        Ok(())
    }

    fn switch(&self, sign: char, controller: &str) -> io::Result<()> {
        let control = self.base.join("cgroup.subtree_control");
        fs::write(control, format!("{sign}{controller}"))
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        // In the root others may have come to rely on the controllers by now.
        let Some(leaf) = &self.leaf else { return };
        for controller in &self.enabled {
            let _ = self.switch('-', controller);
        }
        let _ = enter(&self.base);
        let _ = fs::remove_dir(leaf);
    }
}

/// The place around the leaf, if the process is in one: where workers make their groups.
pub fn base(place: &Place, name: &str) -> Place {
    let mut place = place.clone();
    if place.directory.ends_with(leaf_name(name)) {
        place.directory.pop();
    }
    place
}

fn leaf_name(name: &str) -> String {
    format!("{name}-agent")
}

/// Moves this process into a group.
pub fn enter(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

pub fn lists(file: &Path, word: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().any(|listed| listed == word)
}
