//! How a text is written, and what its columns are converted to, as the front specifies it.

use serde::{Deserialize, Serialize};

/// How the text is written, and which columns are wanted.
#[derive(Debug, Default, Deserialize)]
pub struct Table {
    /// An ASCII character.
    pub separator: char,
    /// Number of cells in each row.
    pub width: usize,
    /// Columns, each once.
    pub wanted: Vec<Wanted>,
}

/// A column that is wanted, and how its numbers are written.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Wanted {
    pub index: usize,
    pub kind: Kind,
    /// Whether numbers have a decimal comma.
    #[serde(default)]
    pub decimal_comma: bool,
    /// Separator of thousands, `.` or `,`.
    #[serde(default)]
    pub thousands: Option<char>,
}

/// What a column is converted to.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Numbers, with the text behind each where there is any.
    #[default]
    Number,
    /// Numbers, NaN for empty cells; texts if any cell holds anything else.
    Time,
    /// Integers; levels if any cell holds anything else.
    Integer,
    /// Distinct texts, and the index of each row's.
    Level,
    /// Texts.
    Text,
}

impl Kind {
    /// The more general kind that a column is converted to if a cell is not of this kind.
    pub fn fallback(self) -> Self {
        match self {
            Self::Time => Self::Text,
            Self::Integer => Self::Level,
            other => other,
        }
    }
}
