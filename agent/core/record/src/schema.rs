//! Prints the schema of the stream, from which the front's structs are generated.

use schemars::{gen::SchemaSettings, schema::RootSchema, JsonSchema};

use crate::network::{EmulateOrder, EmulateRecord, MeasureOrder, MeasureRecord};
use crate::services::{ServicesReport, Supervision};
use crate::{Job, Record, SCHEMA};

/// Both directions of every stream, so that one document defines every type.
#[derive(JsonSchema)]
#[allow(dead_code)] // described, never built
struct Stream {
    /// What the front writes.
    job: Job,
    /// What the agent answers.
    record: Record,
    /// What it writes to `measure`, and what that tells; likewise of `emulate`.
    measure_order: MeasureOrder,
    measure_record: MeasureRecord,
    emulate_order: EmulateOrder,
    emulate_record: EmulateRecord,
    /// What `supervise` is started with, and what it reports.
    supervision: Supervision,
    services_report: ServicesReport,
}

/// Print the JSON Schema of jobs and records.
pub fn run() {
    println!("{:#}", document());
}

fn document() -> serde_json::Value {
    let root: RootSchema = SchemaSettings::draft07()
        .into_generator()
        .into_root_schema_for::<Stream>();
    let mut document = serde_json::to_value(root).expect("a schema is JSON");
    document["title"] = "tare-agent's stream".into();
    document["version"] = SCHEMA.into();
    document
}
