//! The files of an image in the place of the machine's.

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::session::is_root;

const AGENT: &str = env!("CARGO_BIN_EXE_tare-agent");

/// A folder with an image of a shell, and with data; None where no static shell is to be had.
fn image() -> Option<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let shell = Path::new("/bin/busybox");
    if !shell.exists() {
        return None;
    }
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("tare-enter-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    for path in ["root/bin", "root/etc", "root/var/lib/old", "data"] {
        fs::create_dir_all(folder.join(path)).unwrap();
    }
    fs::copy(shell, folder.join("root/bin/sh")).unwrap();
    fs::write(folder.join("root/etc/own"), "image\n").unwrap();
    fs::write(folder.join("data/file"), "data\n").unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    Some(folder)
}

fn enter(folder: &Path, shown: &[(&str, &str, &str)], script: &str, as_user: bool) -> Output {
    let mut words = vec![];
    if as_user {
        words.extend([
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ]);
    }
    words.extend([AGENT, "enter", "--root"]);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(folder.join("root"));
    for (option, inside, outside) in shown {
        let outside = folder.join(outside);
        command.args([option, &*format!("{inside}={}", outside.display())]);
    }
    command.args(["--", "/bin/sh", "-c", script]);
    command.env("PATH", "/usr/bin:/bin").output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// As root, and as who is not.
fn everybody() -> impl Iterator<Item = bool> {
    [false, true]
        .into_iter()
        .filter(|as_user| !as_user || is_root("becoming another user"))
}

#[test]
fn what_is_seen_is_the_images() {
    let Some(folder) = image() else { return };
    let scratch = folder.join("scratch");
    fs::create_dir(&scratch).unwrap();
    fs::set_permissions(&scratch, fs::Permissions::from_mode(0o777)).unwrap();
    let shown = [
        ("--read", "/data", "data"),
        ("--read", "/var/lib/new", "data"),
        ("--read", "/var/lib/file", "data/file"),
        ("--write", "/scratch", "scratch"),
    ];
    // Only what a shell does by itself: a machine's busybox may have no more.
    let script = "cd / && echo * && read own < /etc/own && read data < /data/file
        read new < /var/lib/new/file; read file < /var/lib/file; echo $own $data $new $file
        for path in /x /usr/x /data/x /etc/own /var/lib/x /tare/x; do
            (echo x > $path) 2>/dev/null && echo wrote $path; done
        echo x > /tmp/x && echo x > /scratch/$$ && echo /var/lib/*
        read name < /proc/sys/kernel/hostname; echo $name
        test -x /tare/tare-agent && test -d /sys/class && test -c /dev/null && echo all";
    for as_user in everybody() {
        let output = enter(&folder, &shown, script, as_user);
        let expected = "bin data dev etc proc run scratch sys tare tmp var\n\
                        image data data data\n\
                        /var/lib/file /var/lib/new /var/lib/old\ntare\nall\n";
        assert_eq!(said(&output), expected, "as another user: {as_user}");
    }
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), everybody().count());
    // The image is as it was, and nothing is mounted on it.
    assert_eq!(fs::read_dir(folder.join("root")).unwrap().count(), 3);
    assert_eq!(
        fs::read_dir(folder.join("root/var/lib")).unwrap().count(),
        1
    );
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(folder.to_str().unwrap()));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn links_of_an_image_lead_nowhere() {
    let Some(folder) = image() else { return };
    let outside = folder.join("outside");
    fs::create_dir(&outside).unwrap();
    let root = folder.join("root");
    symlink(&outside, root.join("tmp")).unwrap();
    symlink("../../outside", root.join("data")).unwrap();
    symlink(&outside, root.join("var/lib/link")).unwrap();
    fs::write(root.join("proc"), "no directory").unwrap();
    for as_user in everybody() {
        let output = enter(
            &folder,
            &[],
            "test -d /proc/self && echo x > /tmp/x",
            as_user,
        );
        assert_eq!(said(&output), "");
        for inside in ["/data", "/data/x", "/var/lib/link", "/var/lib/link/x"] {
            let output = enter(&folder, &[("--read", inside, "data")], "echo ran", as_user);
            let told = said(&output);
            assert_eq!(output.status.code(), Some(126), "{told}");
            assert!(
                told.contains("symbolic link") && told.contains(inside),
                "{told}"
            );
        }
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_shown_is_told() {
    let Some(folder) = image() else { return };
    for (inside, outside, why) in [
        ("/data", "nothing", "cannot open"),
        ("/etc/own/x", "data", "cannot show /etc/own/x"),
        ("/etc/own", "data", "cannot show /etc/own"),
        ("/../x", "data", "two absolute paths"),
        ("x", "data", "two absolute paths"),
        ("/", "data", "two absolute paths"),
    ] {
        let output = enter(&folder, &[("--read", inside, outside)], "echo ran", false);
        let told = said(&output);
        assert!(
            !output.status.success() && told.contains(why),
            "{inside}: {told}"
        );
    }
    let file = folder.join("data/file");
    let output = Command::new(AGENT)
        .args(["enter", "--root"])
        .arg(file)
        .args(["--", "x"])
        .output();
    assert!(said(&output.unwrap()).contains("Not a directory"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_network_of_its_own_has_a_loopback_that_is_up() {
    let run = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net"]);
        command.args(words).args(["cat", "/proc/net/if_inet6"]);
        command.output().unwrap()
    };
    if !run(&[]).status.success() {
        eprintln!("skipped: no namespaces for users, or no addresses of version 6");
        return;
    }
    assert_eq!(said(&run(&[])), "");
    let output = run(&[AGENT, "enter", "--loopback", "--"]);
    assert!(said(&output).contains(" lo"), "{}", said(&output));
}

#[test]
fn what_is_entered_is_named() {
    for (words, why) in [
        (&["enter", "--", "x"][..], "needs --network"),
        (
            &["enter", "--loopback", "--read", "/a=/b", "--", "x"][..],
            "beside a --root",
        ),
        (&["enter", "--loopback"][..], "no command"),
    ] {
        let output = Command::new(AGENT).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(why), "{}", said(&output));
    }
}

/// Runs a shell in which the files of a list are hidden, without rights as programs have it.
fn without(list: &Path, script: &str) -> String {
    let namespaces = ["--user", "--map-root-user", "--mount"];
    let output = Command::new("unshare")
        .args(namespaces)
        .args([AGENT, "enter", "--hide"])
        .arg(list)
        .args(["--", "setpriv", "--bounding-set=-all", "--inh-caps=-all"])
        .args(["--", "sh", "-c", script])
        .output();
    said(&output.unwrap())
}

#[test]
fn hidden_files_are_empty_inside_alone() {
    let folder = std::env::temp_dir().join(format!("tare-hide-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (answer, list) = (folder.join("answer"), folder.join("list"));
    fs::write(&answer, "expected\n").unwrap();
    let about = fs::metadata(&answer).unwrap();
    let (device, inode, path) = (about.dev(), about.ino(), answer.display());
    fs::write(&list, format!("{device} {inode} {path}\n")).unwrap();
    let script = format!(
        "cat {path}; umount {path} 2>&1 && echo undone; unshare --user --map-root-user --mount \
         sh -c 'umount {path}; cat {path}' 2>/dev/null; echo end"
    );
    let hidden = without(&list, &script);
    let unchanged = fs::read_to_string(&answer).unwrap();
    // A program may rename what is to be hidden, for the next start.
    let moved = folder.join("moved");
    fs::rename(&answer, &moved).unwrap();
    let gone = without(&list, &format!("cat {}", moved.display()));
    fs::write(&answer, "decoy").unwrap();
    let other = without(&list, &format!("cat {}", moved.display()));
    fs::remove_dir_all(&folder).unwrap();
    assert!(hidden.ends_with("end\n"), "{hidden}");
    assert!(
        !hidden.contains("expected") && !hidden.contains("undone"),
        "{hidden}"
    );
    assert_eq!(unchanged, "expected\n");
    for (said, why) in [
        (gone, "No such file"),
        (other, "another file than at the start"),
    ] {
        assert!(!said.contains("expected") && said.contains(why), "{said}");
    }
}
