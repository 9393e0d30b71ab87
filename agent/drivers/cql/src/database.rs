//! The connection to the server, and the requests that the load makes: reads and writes of one table
//! by its key.

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
/// Reads the whole table at once: Cassandra keeps at most 50,000 lines of its log in it.
const LOG: &str = "SELECT timestamp, order_in_millisecond, message FROM system_views.system_logs";
const VALUE_BYTES: usize = 100;
/// Time limit for connecting and for creating the table, which is slow on a small CPU quota.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval, longer than any run, between updates of the cluster's topology: an update in a run
/// would be measured with it.
const NEVER: Duration = Duration::from_secs(1 << 30);
/// Longest text from the server that an error message quotes.
const MOST_CHARACTERS: usize = 300;

/// Address of the server, timeout of a request, and limit of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    pub address: SocketAddr,
    pub timeout: Duration,
    pub in_flight: u32,
}

/// Why an operation failed: its kind, which is written to the file of requests, and the full text.
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
    /// Connects and prepares the statements; fails if the table does not exist.
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

    /// Sums the garbage collections in the server's log; None if the log table is empty, does not
    /// exist, or may not be read.
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
            let (time, number, line) = row.map_err(|error| wrong(error.to_string()))?;
            let found = found.get_or_insert_with(Collections::default);
            found.add((time.0, number), line);
        }
        Ok(found)
    }

    /// Reads a key; a missing key or a value of another length is a failure.
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

    /// Writes a value under a key.
    async fn write(&self, key: u32, value: &[u8]) -> Result<(), Failure> {
        let values = (i64::from(key), value);
        let done = self.session.execute_unpaged(&self.write, values).await;
        done.map(drop).map_err(failure)
    }
}

/// Returns pseudorandom bytes, which the server cannot compress; the same for the same seed.
fn value(seed: u64) -> [u8; VALUE_BYTES] {
    let mut found = [0; VALUE_BYTES];
    Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut found);
    found
}

/// Connects to the server, with consistency ONE and without retries.
async fn open(target: &Target, timeout: Duration) -> Result<Session, String> {
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::One)
        .request_timeout(Some(timeout))
        // A retried request would count as one operation, though the server handled two.
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

/// Creates the table and writes every key once.
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

/// Connects, and sums all garbage collections that the server's log has.
pub async fn logged_collections(target: &Target) -> Result<Collections, String> {
    Database::connect(target)
        .await?
        .collections()
        .await?
        .ok_or_else(|| "the server does not write its log to system_views.system_logs".to_string())
}

/// Returns the error of a write that has ended.
fn ended(write: Option<Result<Result<(), Failure>, tokio::task::JoinError>>) -> Result<(), String> {
    match write {
        Some(Ok(Err(failure))) => Err(format!("writing the keys failed: {}", failure.text)),
        Some(Err(error)) => Err(format!("writing the keys failed: {error}")),
        _ => Ok(()),
    }
}

/// Classifies an error of the driver.
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

/// Shortens a text that may come from a hostile server, and replaces control characters, which could
/// change the terminal's state.
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
    fn control_characters_of_a_server_are_replaced() {
        assert_eq!(printable("a\x1b[2Jb\nc\u{202e}"), "a?[2Jb?c?");
        assert_eq!(printable(&"é".repeat(1000)).len(), MOST_CHARACTERS);
    }

    #[test]
    fn kinds_of_failures_never_contain_texts_of_the_server() {
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
    fn values_depend_on_the_seed_alone() {
        assert_eq!(value(1), value(1));
        assert_ne!(value(1), value(2));
    }
}
