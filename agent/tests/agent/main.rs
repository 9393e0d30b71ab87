//! The agent against programs that know their own truth.

mod accounting;
mod ending;
mod entering;
mod jobs;
mod launching;
mod limits;
mod meeting;
mod nesting;
mod observing;
mod probing;
mod serving;
mod session;
mod windows;
