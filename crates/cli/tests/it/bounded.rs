//! Hostile input under a memory limit of the kernel. A process beyond the limit is killed, and does not end with the expected
//! exit code.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use hostile::malformed::Connection;

use crate::fixture::{Done, Folder, finish};
use crate::served::Server;

/// The limit of private writable memory in MiB, with the memory that the allocator keeps. The inputs below take less than 48.
const MOST: usize = 64;

const HEAD: &str =
    "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: r}\nspec:\n  optIn: pod\n";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\n";
const RULE: &str = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: r}\nspec:\n  \
    match: {objectSelector: {matchLabels: {app: web}}}\n  sidecars: [{name: s, image: 's:1'}]\n  \
    containerPatches: [{select: {all: true}, env: [{name: TARGET, value: hall}]}]\n";

/// `vestibule ARGUMENTS` with a memory limit in MiB.
fn limited(folder: &Folder, most: usize, arguments: &str) -> Command {
    let vestibule = folder.command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -d {}; exec \"$0\" \"$@\"", most * 1024)]);
    shell.arg(vestibule.get_program()).args(vestibule.get_args()).current_dir(folder.path());
    shell
}

fn run(folder: &Folder, most: usize, arguments: &str) -> Done {
    finish(limited(folder, most, arguments).stdin(Stdio::null()), "")
}

/// The output about a text as rules.
fn lint(rules: &str, code: i32, says: &str) {
    let folder = Folder::with(&[("rules.yaml", rules)]);
    let done = run(&folder, MOST, "lint rules.yaml");
    assert!(
        done.status.code() == Some(code) && done.out.contains(says),
        "{says}: {:?} {}",
        done.status,
        done.err
    );
}

/// The output about a text as an object for [`RULE`].
fn inject(object: &str, code: i32, says: &str) {
    let folder = Folder::with(&[("pod.yaml", object), ("rules.yaml", RULE)]);
    let done = run(&folder, MOST, "inject -f pod.yaml --rules rules.yaml");
    let said = done.out + &done.err;
    assert!(done.status.code() == Some(code) && said.contains(says), "{says}: {:?}", done.status);
}

/// Nine levels of ten aliases each: a billion values.
fn bomb() -> String {
    let mut text = "  a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{}", level - 1);
        writeln!(text, "  a{level}: &a{level} [{}]", vec![below; 10].join(",")).unwrap();
    }
    text
}

/// A long text a thousand times: few values and 1 GB.
fn heavy_bomb() -> String {
    format!("  a: &a {}\n  b: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 1_000].join(","))
}

/// Texts that are just short enough to count as one value each, in few levels.
fn wide_bomb() -> String {
    let texts = vec!["x".repeat(99); 900].join(",");
    format!("  a: &a [{texts}]\n  b: [{}]\n", vec!["*a"; 1_000].join(","))
}

fn deep(levels: usize) -> String {
    format!("  a: {}{}\n", "[".repeat(levels), "]".repeat(levels))
}

/// Shows that the limit works, so that the refusals below stay within it.
#[test]
fn a_process_beyond_the_memory_limit_is_killed() {
    let folder = Folder::with(&[("rules.yaml", &format!("{HEAD}{}", wide_bomb()))]);
    let done = run(&folder, 12, "lint rules.yaml");
    assert!(done.status.signal().is_some(), "{:?} {}", done.status, done.err);
}

#[test]
fn bombs_and_depths_as_rules() {
    lint(&format!("{HEAD}{}", bomb()), 1, "VST0104");
    lint(&format!("{HEAD}{}", heavy_bomb()), 1, "VST0104");
    lint(&format!("{HEAD}{}", wide_bomb()), 1, "VST0104");
    lint(&format!("{HEAD}{}", deep(100_000)), 1, "VST0105");
    lint(&format!("{HEAD}{}", deep(120)), 1, "VST0110");
}

#[test]
fn bombs_and_depths_as_objects() {
    inject(&format!("{POD}spec:\n{}", bomb()), 2, "VST0104");
    inject(&format!("{POD}spec:\n{}", heavy_bomb()), 2, "VST0104");
    inject(&format!("{POD}spec:\n{}", wide_bomb()), 2, "VST0104");
    inject(&format!("{POD}spec:\n{}", deep(100_000)), 2, "VST0105");
    inject(&format!("{POD}spec:\n  containers: [{{name: app, image: i}}]\n{}", deep(120)), 0, "name: TARGET");
}

/// A text of 0.5 MiB from few steps, and a list with 90 copies of it.
#[test]
fn values_written_by_expressions_are_bounded() {
    let text = format!("['{0}'].map(t, t.replace('x', t)).map(t, t.replace('x', '{0}{0}'))", "x".repeat(64));
    let expression = format!("{text}.map(t, [{}].join(','))[0]", ["t"; 90].join(", "));
    let rules = RULE.replace("value: hall", &format!("value: {{$cel: \"{expression}\"}}"));
    let pod = format!("{POD}spec:\n  containers: [{{name: app, image: i}}]\n");
    let folder = Folder::with(&[("pod.yaml", &pod), ("rules.yaml", &rules)]);
    // The reader of expressions runs on a stack of 64 MiB.
    run(&folder, MOST + 32, "inject -f pod.yaml --rules rules.yaml").tells("more than 1048576 bytes");
}

/// The largest object that the API server stores.
#[test]
fn a_pod_of_a_megabyte_and_a_half() {
    let annotation = "configuration ".repeat(100_000);
    let metadata = POD.replace("name: web,", &format!("name: web, annotations: {{a: \"{annotation}\"}},"));
    inject(&format!("{metadata}spec:\n  containers: [{{name: app, image: i}}]\n"), 0, "name: TARGET");
}

#[test]
fn ten_thousand_variables() {
    let env = |indent: &str| {
        (0..10_000).fold(String::new(), |text, index| {
            text + &format!("{indent}- {{name: SETTING_{index}, value: https://s{index}.example.com:8443}}\n")
        })
    };
    inject(
        &format!("{POD}spec:\n  containers:\n  - name: app\n    image: i\n    env:\n{}", env("    ")),
        0,
        "name: TARGET",
    );
    let brought = format!("{HEAD}  containerPatches:\n  - select: {{all: true}}\n    env:\n{}", env("    "));
    lint(&brought, 0, "nothing found");
}

#[test]
fn a_thousand_rules() {
    let rules = (0..1_000).fold(String::new(), |text, index| {
        let name = format!("name: r{index}");
        let rule = RULE.replace("name: r", &name).replace("name: s,", &format!("name: s{index},"));
        text + "---\n" + &rule.replace("TARGET", &format!("TARGET_{index}"))
    });
    lint(&rules, 0, "2000 hints");
    let pod = format!("{POD}spec:\n  containers: [{{name: app, image: i}}]\n");
    let folder = Folder::with(&[("pod.yaml", &pod), ("rules.yaml", &rules)]);
    let done = run(&folder, MOST, "inject -f pod.yaml --rules rules.yaml");
    assert_eq!(done.status.code(), Some(0), "{}", done.err);
    assert_eq!(done.out.matches("- name: TARGET_").count(), 1_000);
}

/// Calls come one after the other, so each can use the memory of the one before.
#[test]
fn a_served_injector_answers_hostile_objects() {
    /// A body of 1 MiB or more gets 33 MiB of address space, a thread a stack of 2 or 64 MiB.
    const SERVED: usize = 192;
    let folder = Folder::with(&[("rules.yaml", RULE)]);
    let serve = "serve --rules rules.yaml --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --identity local:identity --worker-threads 2";
    let server = Server::spawn(limited(&folder, SERVED, serve).stdin(Stdio::null()));
    let ca = std::fs::read(folder.path().join("identity/ca.crt")).unwrap();
    let mut connection = Connection::to(server.address("address"), "localhost", &ca);
    let mut answered = |object: &str| {
        let (status, answer) = connection.post("/mutate/best-effort", review(object).as_bytes());
        (status, answer.len(), String::from_utf8(answer).unwrap().contains(r#""patch""#))
    };
    let pod = |more: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","labels":{{"app":"web"}}{more}}},"spec":{{"containers":[{{"name":"app","image":"i"}}]}}}}"#
        )
    };
    let large = pod(&format!(r#","annotations":{{"a":"{}"}}"#, "configuration ".repeat(100_000)));
    let deep = pod(&format!(r#","deep":{}{}"#, "[".repeat(100_000), "]".repeat(100_000)));
    let wide = pod(&format!(r#","wide":[{}0]"#, "0,".repeat(1_000_000)));
    let variables = (0..10_000).map(|index| format!(r#"{{"name":"SETTING_{index}","value":"v"}}"#));
    let variables = variables.collect::<Vec<_>>().join(",");
    let crowded = pod("").replace(r#""image""#, &format!(r#""env":[{variables}],"image""#));
    for _ in 0..5 {
        for object in [&large, &wide, &crowded] {
            let (status, length, is_patched) = answered(object);
            assert!(
                status == 200 && is_patched && length < object.len() + 10_000,
                "{status}, {length} bytes"
            );
        }
        let (status, length, _) = answered(&deep);
        assert!(status == 500 && length < 300, "{status}, {length} bytes");
    }
    assert_eq!(answered(&pod("")).0, 200);
}

fn review(object: &str) -> String {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},"name":"web","namespace":"shop","operation":"CREATE","userInfo":{{"username":"u"}},"dryRun":false,"object":{object}}}}}"#
    )
}
