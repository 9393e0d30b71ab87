//! The connection to whoever is told of the services, and ends them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use record::services::ServicesReport;

/// Of the first connection; in a network that is being set up an address takes a second.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Control {
    stream: TcpStream,
    /// Hears of the end alone.
    over: Receiver<()>,
    ended: AtomicBool,
}

impl Control {
    /// Connects, and proves itself by the key.
    pub fn connect(address: &str, key: &str) -> Result<Self, String> {
        let parsed: SocketAddr = address
            .parse()
            .map_err(|_| format!("{address:?} is no address with a port"))?;
        let connect = || -> io::Result<_> {
            let mut stream = TcpStream::connect_timeout(&parsed, PATIENCE)?;
            stream.set_nodelay(true)?;
            writeln!(stream, "{key}")?;
            let reader = stream.try_clone()?;
            Ok((stream, reader))
        };
        let (stream, mut reader) =
            connect().map_err(|error| format!("cannot reach {address}: {error}"))?;
        let (sender, over) = mpsc::channel();
        thread::spawn(move || {
            // A line, an end and an error are the same: nobody wants the services any more.
            while let Err(error) = reader.read(&mut [0; 1]) {
                if error.kind() != io::ErrorKind::Interrupted {
                    break;
                }
            }
            drop(sender);
        });
        Ok(Self {
            stream,
            over,
            ended: AtomicBool::new(false),
        })
    }

    /// Whether the services are to end; waits for it for a while.
    pub fn over(&self, wait: Duration) -> bool {
        if !self.ended.load(Ordering::Relaxed) {
            let over = self.over.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected);
            self.ended.store(over, Ordering::Relaxed);
        }
        self.ended.load(Ordering::Relaxed)
    }

    /// Reports; whoever is gone needs to know nothing.
    pub fn report(&mut self, report: &ServicesReport) {
        if let Ok(line) = serde_json::to_string(report) {
            let _ = writeln!(self.stream, "{line}");
        }
    }
}
