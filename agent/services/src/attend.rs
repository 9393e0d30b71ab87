//! `attend`: the front's end of a connection to `supervise`, on another host of the network.
//!
//! It binds to what it is told, takes the first connection that shows the key, and passes lines on
//! in both directions: from there to standard output, and from standard input there.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{mpsc, Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::LINE;

/// How long a connection may take to show the key, and how many may do so at once.
const PATIENCE: Duration = Duration::from_secs(5);
const MOST: usize = 8;

/// Run `attend`: the first line of standard input is the key; prints the port.
pub fn run(address: IpAddr) -> ExitCode {
    match attend(address) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tare-agent: {why}");
            ExitCode::FAILURE
        }
    }
}

fn attend(address: IpAddr) -> Result<(), String> {
    let mut input = BufReader::new(io::stdin().lock());
    let key = line(&mut input).map_err(|error| format!("no key: {error}"))?;
    let door = TcpListener::bind((address, 0)).map_err(|error| format!("{address}: {error}"))?;
    let port = door.local_addr().map_err(|error| error.to_string())?.port();
    println!("{port}");
    let (sender, come) = mpsc::channel();
    thread::spawn(move || admit(&door, &key, &sender));
    let there = Arc::new(Mutex::new(None));
    let peer = there.clone();
    thread::spawn(move || {
        if let Ok((stream, reader)) = come.recv() {
            *peer.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
            pass(reader);
        }
        // Nothing comes any more, and nothing is to be said.
        std::process::exit(0);
    });
    while let Ok(said) = line(&mut input) {
        let mut there = there.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = there.as_mut() {
            writeln!(stream, "{said}").map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Takes connections until one shows the key.
fn admit(door: &TcpListener, key: &str, sender: &mpsc::Sender<(TcpStream, BufReader<TcpStream>)>) {
    let asking = Arc::new(());
    for stream in door.incoming().flatten() {
        let place = asking.clone();
        if Arc::strong_count(&asking) > MOST + 1 {
            continue;
        }
        let (key, sender) = (key.to_string(), sender.clone());
        thread::spawn(move || {
            let _place = place;
            if let Ok(shown) = prove(stream, &key) {
                let _ = sender.send(shown);
            }
        });
    }
}

fn prove(stream: TcpStream, key: &str) -> io::Result<(TcpStream, BufReader<TcpStream>)> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let shown = line(&mut reader)?;
    // In a time that depends on the length alone.
    let differ = shown
        .bytes()
        .zip(key.bytes())
        .fold(shown.len() ^ key.len(), |d, (a, b)| d | usize::from(a ^ b));
    if differ != 0 || key.is_empty() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(None)?;
    stream.set_nodelay(true)?;
    Ok((stream, reader))
}

fn pass(mut from: BufReader<TcpStream>) {
    while let Ok(said) = line(&mut from) {
        println!("{said}");
    }
}

/// The next line without its end; an error where there is none, or it is too long.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.take(LINE).read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.pop();
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_shows_the_key_is_heard() {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = door.local_addr().unwrap();
        let (sender, come) = mpsc::channel();
        thread::spawn(move || admit(&door, "key", &sender));
        for shown in ["kez", "keys", "", "k"] {
            let mut stream = TcpStream::connect(address).unwrap();
            writeln!(stream, "{shown}").unwrap();
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "{shown:?} is heard");
        }
        let mut silent = Vec::new();
        silent.resize_with(3, || TcpStream::connect(address).unwrap());
        let mut stream = TcpStream::connect(address).unwrap();
        writeln!(stream, "key\nready").unwrap();
        let (_, mut reader) = come.recv_timeout(PATIENCE).unwrap();
        assert_eq!(line(&mut reader).unwrap(), "ready");
    }
}
