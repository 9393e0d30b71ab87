//! What is to be made, as `src/tare/platforms/nest.py` says it.

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    pub folders: Vec<String>,
    /// Folder and user.
    pub owners: Vec<(String, u32)>,
    pub files: Vec<File>,
    /// Path and target.
    pub links: Vec<(String, String)>,
    /// What is shown at a path, and the path.
    pub binds: Vec<(String, String)>,
    pub users: Option<Users>,
    pub group: Option<Group>,
    pub daemons: Vec<Vec<String>>,
    pub awaited: Vec<String>,
    pub awaited_s: Seconds,
    /// Where the command inside starts.
    pub directory: Option<String>,
    pub before: Vec<Vec<String>>,
    pub after: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub path: String,
    pub text: String,
    #[serde(default = "readable")]
    pub mode: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    pub quota_us: Option<u64>,
    #[serde(default = "period")]
    pub period_us: u64,
    pub cpus: Option<String>,
    pub memory_bytes: Option<u64>,
}

/// A user namespace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Users {
    /// Who its root is outside, and that many after him.
    pub first: u32,
    pub count: u32,
    /// As which descriptor the command inside has it.
    pub descriptor: i32,
}

#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl Default for Seconds {
    fn default() -> Self {
        Self(30.0)
    }
}

fn readable() -> u32 {
    0o644
}

fn period() -> u64 {
    100_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_as_the_front_has_it() {
        let spec: Spec = serde_json::from_str("{}").unwrap();
        assert!(spec.folders.is_empty() && spec.group.is_none());
        assert_eq!(spec.awaited_s.0, 30.0);
        let text = r#"{"files": [{"path": "/a", "text": ""}], "group": {"name": "g"},
                       "links": [["/b", "a"]]}"#;
        let spec: Spec = serde_json::from_str(text).unwrap();
        assert_eq!(spec.files[0].mode, 0o644);
        assert_eq!(spec.group.unwrap().period_us, 100_000);
        assert_eq!(spec.links, [("/b".to_string(), "a".to_string())]);
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for text in [
            r#"{"folder": []}"#,
            r#"{"files": [{"path": "/a", "text": "", "owner": 0}]}"#,
            r#"{"group": {}}"#,
        ] {
            assert!(serde_json::from_str::<Spec>(text).is_err(), "{text}");
        }
    }
}
