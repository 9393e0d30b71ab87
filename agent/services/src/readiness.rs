//! Whether a service is ready.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use record::services::Ready;
use regex_lite::Regex;

use crate::listening;
use crate::log::Log;

/// For a connection, and for the first answer: then it is asked again, and twice as long is waited,
/// as an emulated CPU may need much longer for a page.
const PATIENCE: Duration = Duration::from_secs(2);
/// Read of a page.
const PAGE: u64 = 4 << 20;

/// What shows that a service is ready, checked.
pub enum Readiness {
    Log,
    Port(SocketAddr),
    Http {
        address: SocketAddr,
        path: String,
        body: Option<Regex>,
        patience: Duration,
    },
    Command(Command),
}

impl Readiness {
    /// With the expression that its log is read for, if any.
    pub fn new(ready: &Ready) -> Result<(Self, Option<Regex>), String> {
        Ok(match ready {
            Ready::ReadyLog { pattern } => (Self::Log, Some(expression(pattern)?)),
            Ready::ReadyPort { address } => (Self::Port(parsed(address)?), None),
            Ready::ReadyHttp {
                address,
                path,
                body,
            } => {
                let body = body.as_deref().map(expression).transpose()?;
                let (address, path) = (parsed(address)?, path.clone());
                let http = Self::Http {
                    address,
                    path,
                    body,
                    patience: PATIENCE,
                };
                (http, None)
            }
            Ready::ReadyCommand { command } => (Self::Command(built(command)?), None),
        })
    }

    /// Whether somebody else has its port already.
    pub fn taken(&self) -> Option<SocketAddr> {
        let address = self.address()?;
        TcpStream::connect_timeout(&address, PATIENCE)
            .is_ok()
            .then_some(address)
    }

    /// Where something listens instead of where connections are tried.
    pub fn elsewhere(&self) -> Option<String> {
        listening::elsewhere(self.address()?)
    }

    fn address(&self) -> Option<SocketAddr> {
        let (Self::Port(address) | Self::Http { address, .. }) = self else {
            return None;
        };
        Some(*address)
    }

    /// Whether it is; otherwise what is seen instead. It is not waited for longer than is left.
    pub fn check(&mut self, log: &Log, left: Duration) -> Result<(), String> {
        match self {
            Self::Log if log.shown() => Ok(()),
            Self::Log => Err("no line of its output has the expression".to_string()),
            Self::Port(address) => TcpStream::connect_timeout(address, PATIENCE)
                .map(drop)
                .map_err(|error| format!("{address}: {error}")),
            Self::Http {
                address,
                path,
                body,
                patience,
            } => {
                let (limit, began) = ((*patience).min(left.max(PATIENCE)), Instant::now());
                let page = page(*address, path, limit);
                if page.is_err() && began.elapsed() >= limit {
                    *patience = patience.saturating_mul(2);
                }
                page.and_then(|page| answers(&page, body.as_ref()))
            }
            Self::Command(command) => match command.status() {
                Ok(status) if status.success() => Ok(()),
                Ok(status) => Err(format!("its command ended with {status}")),
                Err(error) => Err(format!("its command cannot be started: {error}")),
            },
        }
    }
}

fn expression(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| format!("{pattern:?} is no expression: {error}"))
}

fn parsed(address: &str) -> Result<SocketAddr, String> {
    address
        .parse()
        .map_err(|_| format!("{address:?} is no address with a port"))
}

/// A command without input and output.
fn built(words: &[String]) -> Result<Command, String> {
    let (program, rest) = words.split_first().ok_or("a command without words")?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}

/// What a server answers, its head included. Of HTTP 1.0 no answer comes in chunks.
fn page(address: SocketAddr, path: &str, patience: Duration) -> Result<Vec<u8>, String> {
    let read = || {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )?;
        let mut page = Vec::new();
        stream.take(PAGE).read_to_end(&mut page)?;
        Ok(page)
    };
    read().map_err(|error: std::io::Error| format!("{address}: {error}"))
}

fn answers(page: &[u8], body: Option<&Regex>) -> Result<(), String> {
    let end = page.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, rest) = page.split_at(end.unwrap_or(page.len()));
    let head = String::from_utf8_lossy(head);
    let first = head.lines().next().unwrap_or_default();
    if first.split_whitespace().nth(1) != Some("200") {
        return Err(match first {
            "" => "it closes the connection without an answer".to_string(),
            first => format!("it answers {first:?}"),
        });
    }
    let rest = String::from_utf8_lossy(rest);
    match body {
        Some(body) if !body.is_match(rest.trim()) => Err(format!(
            "its page of {} bytes has no match of {:?}",
            rest.trim_start().len(),
            body.as_str()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_slow_page_is_waited_for_longer_each_time() {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut readiness = Readiness::Http {
            address: door.local_addr().unwrap(),
            path: "/".to_string(),
            body: None,
            patience: Duration::from_millis(1),
        };
        thread::spawn(move || {
            for stream in door.incoming() {
                thread::sleep(Duration::from_millis(20));
                // The client may have closed its connection after its time limit.
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            }
        });
        let log = Log::default();
        let day = Duration::from_secs(86_400);
        let asked = (0..30).position(|_| readiness.check(&log, day).is_ok());
        // The first answer takes longer than that is waited for.
        assert!(asked.unwrap() > 0);
    }

    #[test]
    fn an_empty_page_with_200_is_not_ready() {
        let title = Regex::new("<title>").unwrap();
        let ok = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n<title>Blog</title>";
        assert_eq!(answers(ok, Some(&title)), Ok(()));
        let empty = answers(b"HTTP/1.1 200 OK\r\n\r\n", Some(&title));
        assert!(empty.unwrap_err().contains("0 bytes"));
        let broken = answers(b"HTTP/1.0 500 Oh\r\n\r\n<title>", Some(&title));
        assert!(broken.unwrap_err().contains("500"));
        assert!(answers(b"", None).is_err());
    }
}
