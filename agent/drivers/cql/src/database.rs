//! The server as this program uses it: one table, read and written by its key.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::Consistency;
use scylla::value::CqlTimestamp;
use tokio::task::JoinSet;

use crate::collections::Collections;
use crate::schedule::Operation;

const KEYSPACE: &str = "CREATE KEYSPACE IF NOT EXISTS tare WITH replication = \
    {'class': 'SimpleStrategy', 'replication_factor': 1}";
const TABLE: &str = "CREATE TABLE IF NOT EXISTS tare.items (key bigint PRIMARY KEY, value blob)";
const READ: &str = "SELECT value FROM tare.items WHERE key = ?";
const WRITE: &str = "INSERT INTO tare.items (key, value) VALUES (?, ?)";
/// The server keeps at most some ten thousand lines of its log there.
const LOG: &str = "SELECT timestamp, order_in_millisecond, message FROM system_views.system_logs";
const VALUE_BYTES: usize = 100;
/// Creating a table takes long where there is little CPU.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);
/// No run is as long: what the driver looks at now and then is not to happen in one.
const NEVER: Duration = Duration::from_secs(1 << 30);
/// Of what a server says, for a message.
const MOST_CHARACTERS: usize = 300;

/// Where the server is, and how it is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    pub address: SocketAddr,
    pub timeout: Duration,
    pub in_flight: u32,
}

/// Why an operation failed: for the file, and in full.
#[derive(Debug)]
pub struct Failure {
    pub kind: &'static str,
    pub text: String,
}

/// A session with prepared statements.
pub struct Database {
    session: Session,
    read: PreparedStatement,
    write: PreparedStatement,
}

impl Database {
    /// Connects, and prepares the statements.
    pub async fn connect(target: &Target) -> Result<Self, String> {
        Self::prepared(open(target, target.timeout).await?).await
    }

    async fn prepared(session: Session) -> Result<Self, String> {
        let prepare = async |text: &str| {
            session.prepare(text).await.map_err(|error| {
                let why = printable(&error.to_string());
                format!("cannot prepare {text:?}: {why}; tare-cql load creates the table")
            })
        };
        let (read, write) = (prepare(READ).await?, prepare(WRITE).await?);
        Ok(Self {
            session,
            read,
            write,
        })
    }

    /// Performs an operation.
    pub async fn perform(&self, operation: Operation) -> Result<(), Failure> {
        let key = operation.key;
        match operation.writes {
            true => self.write(key, &value(operation.intended_ns)).await,
            false => self.read(key).await,
        }
    }

    /// Reads the garbage collections that the server has logged so far; None: it does not log them
    /// where they can be read, or is no Cassandra that has such a table.
    pub async fn collections(&self) -> Result<Option<Collections>, String> {
        let answer = match self.session.query_unpaged(LOG, ()).await {
            Ok(answer) => answer,
            Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(
                DbError::Invalid | DbError::Unauthorized,
                _,
            ))) => return Ok(None),
            Err(error) => {
                let why = printable(&error.to_string());
                return Err(format!("cannot read garbage collections: {why}"));
            }
        };
        let wrong = |why: String| format!("cannot read garbage collections: {}", printable(&why));
        let rows = answer
            .into_rows_result()
            .map_err(|error| wrong(error.to_string()))?;
        let mut found = None;
        for row in rows
            .rows::<(CqlTimestamp, i32, &str)>()
            .map_err(|error| wrong(error.to_string()))?
        {
            let (time, place, line) = row.map_err(|error| wrong(error.to_string()))?;
            let found = found.get_or_insert_with(Collections::default);
            found.add((time.0, place), line);
        }
        Ok(found)
    }

    /// Reads a key, which must be there.
    async fn read(&self, key: u32) -> Result<(), Failure> {
        let values = (i64::from(key),);
        let found = self.session.execute_unpaged(&self.read, values).await;
        let rows = found.map_err(failure)?.into_rows_result();
        let wrong = |text: String| Failure {
            kind: "unexpected answer",
            text,
        };
        let rows = rows.map_err(|error| wrong(printable(&error.to_string())))?;
        let row = rows.maybe_first_row::<(&[u8],)>();
        match row.map_err(|error| wrong(printable(&error.to_string())))? {
            Some((value,)) if value.len() == VALUE_BYTES => Ok(()),
            Some((value,)) => Err(wrong(format!("key {key} has {} bytes", value.len()))),
            None => Err(Failure {
                kind: "key not found",
                text: format!("key {key} is not there; tare-cql load writes the keys"),
            }),
        }
    }

    /// Writes a key.
    async fn write(&self, key: u32, value: &[u8]) -> Result<(), Failure> {
        let values = (i64::from(key), value);
        let done = self.session.execute_unpaged(&self.write, values).await;
        done.map(drop).map_err(failure)
    }
}

/// A value that cannot be compressed.
fn value(seed: u64) -> [u8; VALUE_BYTES] {
    let mut found = [0; VALUE_BYTES];
    Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut found);
    found
}

async fn open(target: &Target, timeout: Duration) -> Result<Session, String> {
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::One)
        .request_timeout(Some(timeout))
        // What failed has failed: an operation that is tried again is two.
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .build();
    SessionBuilder::new()
        .known_node_addr(target.address)
        .default_execution_profile_handle(profile.into_handle())
        .connection_timeout(SETUP_TIMEOUT)
        .fetch_schema_metadata(false)
        .cluster_metadata_refresh_interval(NEVER)
        .build()
        .await
        .map_err(|error| {
            let (address, why) = (target.address, printable(&error.to_string()));
            format!(
                "cannot connect to {address}: {why}; is the server up, and is this its address?"
            )
        })
}

/// Creates the table, and writes every key once.
pub async fn load(target: &Target, keys: u32) -> Result<(), String> {
    let session = open(target, SETUP_TIMEOUT).await?;
    for statement in [KEYSPACE, TABLE] {
        session
            .query_unpaged(statement, ())
            .await
            .map_err(|error| format!("{statement:?} failed: {}", printable(&error.to_string())))?;
    }
    let database = Arc::new(Database::prepared(session).await?);
    let mut writes: JoinSet<Result<(), Failure>> = JoinSet::new();
    for key in 0..keys {
        if writes.len() >= target.in_flight as usize {
            ended(writes.join_next().await)?;
        }
        let database = Arc::clone(&database);
        writes.spawn(async move { database.write(key, &value(u64::from(key))).await });
    }
    while !writes.is_empty() {
        ended(writes.join_next().await)?;
    }
    Ok(())
}

fn ended(write: Option<Result<Result<(), Failure>, tokio::task::JoinError>>) -> Result<(), String> {
    match write {
        Some(Ok(Err(failure))) => Err(format!("writing the keys failed: {}", failure.text)),
        Some(Err(error)) => Err(format!("writing the keys failed: {error}")),
        _ => Ok(()),
    }
}

fn failure(error: ExecutionError) -> Failure {
    let kind = match &error {
        ExecutionError::RequestTimeout(_) => "timeout",
        ExecutionError::ConnectionPoolError(_) => "no connection",
        ExecutionError::LastAttemptError(RequestAttemptError::BrokenConnectionError(_)) => {
            "connection lost"
        }
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => match error {
            DbError::Overloaded => "server overloaded",
            DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. } => "timeout in the server",
            DbError::Unavailable { .. } => "server unavailable",
            _ => "error of the server",
        },
        _ => "unexpected answer",
    };
    let text = printable(&error.to_string());
    Failure { kind, text }
}

/// What can be printed of a text that may be a server's, which need not be well-meaning.
fn printable(text: &str) -> String {
    let plain = |character: char| match character {
        ' '..='~' => character,
        _ => '?',
    };
    text.chars().take(MOST_CHARACTERS).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_does_not_reach_the_terminal_as_it_is() {
        assert_eq!(printable("a\x1b[2Jb\nc\u{202e}"), "a?[2Jb?c?");
        assert_eq!(printable(&"é".repeat(1000)).len(), MOST_CHARACTERS);
    }

    #[test]
    fn failures_have_names_of_this_program() {
        let server = |error, text: &str| {
            let attempt = RequestAttemptError::DbError(error, text.to_string());
            failure(ExecutionError::LastAttemptError(attempt))
        };
        let found = server(DbError::Overloaded, "go, away\n");
        assert_eq!(found.kind, "server overloaded");
        assert!(found.text.contains("go, away?"), "{}", found.text);
        assert_eq!(server(DbError::Other(-1), "").kind, "error of the server");
        let late = ExecutionError::RequestTimeout(Duration::from_secs(1));
        assert_eq!(failure(late).kind, "timeout");
    }

    #[test]
    fn values_differ_and_come_again() {
        assert_eq!(value(1), value(1));
        assert_ne!(value(1), value(2));
    }
}
