//! The table as a page.

use std::fmt::Write as _;
use std::path::Path;

use vestibule_caller::FailurePolicy;

use super::rows::table;
use super::server::{Seen, Server};

const INTRODUCTION: &str = "\
# How kube-apiserver treats an answer

Each row has an answer of a webhook about a ConfigMap, and the result for the user under `failurePolicy: Fail` and under `Ignore`. The results are computed
by the client and the judge of `vestibule-caller`. `cargo test -p cluster oracle` sends the same answers to a real kube-apiserver: code, message, reason,
causes, warnings, audit annotations, the object and the number of requests must be equal.

`…` stands for `Internal error occurred: failed calling webhook \"NAME\": `. *admitted* alone means an unchanged object. The judge does not know the object's
type, so effects of the type are not in the table: an unknown field is dropped without a warning, a value of another type is a 500 under both policies, and an
invalid object is refused as if the user had sent it.

Written by `VESTIBULE_UPDATE_GOLDEN=1 cargo test -p cluster the_page`.
";

#[tokio::test]
async fn the_page_is_what_the_judge_says() {
    let server = Server::start("asked.oracle.svc", ([127, 0, 0, 1], 0).into());
    let mut page = INTRODUCTION.to_owned();
    let mut number = 0;
    for (title, rows) in table() {
        write!(page, "\n## {title}\n\n| A webhook says | `Fail` | `Ignore` |\n|---|---|---|\n").unwrap();
        for row in rows {
            let fail = told(&server.judged(number, FailurePolicy::Fail, "shop").await);
            let ignore = told(&server.judged(number, FailurePolicy::Ignore, "shop").await);
            let ignore = if ignore == fail { "the same" } else { &ignore };
            writeln!(page, "| {}{} | {fail} | {ignore} |", hook(&row), row.what).unwrap();
            number += 1;
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/answers.md");
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/reference/answers.md is not what the judge says: write it anew");
}

fn hook(row: &super::Row) -> &'static str {
    if row.asked.is_validating() { "*validating:* " } else { "" }
}

fn told(seen: &Seen) -> String {
    let mut told = match (&seen.object, seen.code) {
        (None, 200) => "deleted".to_owned(),
        (Some(object), _) if object["data"]["user"] == "kept" && is_as_it_was(object) => {
            "admitted".to_owned()
        }
        (Some(_), _) => "admitted, changed".to_owned(),
        (None, code) => format!("{code}: {}", words(&seen.message)),
    };
    let mut also = |what: String| told = format!("{told}; {what}");
    if !seen.reason.is_empty() && seen.reason != "InternalError" {
        also(format!("reason {}", seen.reason));
    }
    if !seen.causes.is_empty() {
        also(format!("{} causes", seen.causes.len()));
    }
    if let Some(seconds) = seen.retry_after {
        also(format!("retry after {seconds} s"));
    }
    match &seen.warnings[..] {
        [] => {}
        [one] if one.len() < 80 => also(format!("warning {}", words(one))),
        all => also(format!(
            "{} warnings of up to {} characters",
            all.len(),
            all.iter().map(|warning| warning.chars().count()).max().unwrap_or_default()
        )),
    }
    for (key, value) in &seen.annotations {
        let key = key.split_once('/').map_or(key.as_str(), |(_, key)| key);
        also(format!("audit `{key}`, {} characters", value.len()));
    }
    if seen.requests != 1 {
        also(format!("{} requests", seen.requests));
    }
    told
}

fn is_as_it_was(object: &serde_json::Value) -> bool {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let finalizers = metadata["finalizers"].as_array().map(Vec::len);
    object["data"].as_object().map(serde_json::Map::len) == Some(1)
        && object.get("binaryData").is_none()
        && name.starts_with("asked-")
        && finalizers == Some(2)
        && metadata["finalizers"][0] == "a.test/a"
        && metadata["finalizers"][1] == "a.test/b"
        && metadata["annotations"].as_object().map(serde_json::Map::len) == Some(1)
}

/// As code in a cell of a table, without what every message begins with and without what differs from run to run.
fn words(message: &str) -> String {
    let mut message = message.to_owned();
    if let Some((_, words)) = message.split_once("failed calling webhook ") {
        message = format!("…{}", words.split_once(": ").map_or(words, |(_, words)| words));
    }
    if let Some((before, rest)) = message.split_once(".svc:")
        && let Some((_, after)) = rest.split_once('/')
    {
        message = format!("{before}.svc:PORT/{after}");
    }
    // The rest is the text of a JSON parser, and the API server has another parser.
    if let Some((before, _)) = message.split_once("json parse error: ") {
        message = format!("{before}json parse error: …");
    }
    if message.chars().count() > 200 {
        message = message.chars().take(120).chain(['…']).collect();
    }
    format!("`{}`", message.replace('\n', "␤").replace('|', "\\|"))
}
