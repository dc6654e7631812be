//! Golden tests: cases in folders, with given objects and expected results.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use vestibule_caller as caller;

use super::outcome::Outcome;
use super::{Call, Request, call, diff};
use vestibule::App;

/// The files of a case.
const FILES: [&str; 7] =
    ["given.yaml", "old.yaml", "request.yaml", "expect.yaml", "denied.txt", "fault.txt", "warnings.txt"];

/// If set, the expected files are rewritten.
const UPDATE: &str = "VESTIBULE_UPDATE_GOLDEN";

/// Runs every case in `folder`, which holds a folder for each hook and in it a folder for each case:
///
/// ```text
/// tests/golden/
///   inject/                  the hook
///     adds-the-sidecar/      the case
///       given.yaml           the object as the user sends it
///       expect.yaml          the object as it goes on
///     not-for-mallory/
///       given.yaml
///       request.yaml         who asks and how, where that matters: `user: mallory`
///       denied.txt           what the user reads instead, and a line `FIELD: WORDS` for each field that is named
/// ```
///
/// An `old.yaml` makes an update of it, or without `given.yaml` a delete; [`Call::connect`] calls a hook for CONNECT.
/// Warnings are expected in `warnings.txt`, one in each line, and the words of a fault in `fault.txt`. `request.yaml`
/// may say `user`, `groups`, `namespace`, `namespaceLabels`, `name`, `subresource`, `resource`, `clusterScoped` and
/// `dryRun`. A file of another name fails the case, except notes in `*.md`.
///
/// Every allowed request is also checked by three laws: the patch applies to the received object, a second call changes
/// nothing, and members that the handler's type does not know are kept.
///
/// With `VESTIBULE_UPDATE_GOLDEN=1` in the environment the expected files are rewritten to pass; the laws are checked
/// nevertheless.
///
/// # Panics
/// A case fails, or there is none. All cases run, and the message names each that fails.
pub async fn golden(app: &App, folder: impl AsRef<Path>) {
    let folder = folder.as_ref();
    let update = std::env::var_os(UPDATE).is_some();
    let (mut count, mut failures) = (0, Vec::new());
    for hook in folders(folder) {
        let cases = folders(&hook);
        if cases.is_empty() {
            failures.push(format!("{}: it holds no case: no folder with a given.yaml", hook.display()));
        }
        for case in cases {
            count += 1;
            if let Err(why) = run(app, &name(&hook), &case, update).await {
                failures.push(format!("{}: {why}", case.display()));
            }
        }
    }
    assert!(count > 0, "{} holds no case; the first is HOOK/CASE/given.yaml", folder.display());
    if !failures.is_empty() {
        let hint = format!("{UPDATE}=1 rewrites what is expected; look at the difference before you keep it");
        panic!("of {count} cases, {} fail:\n{}\n{hint}", failures.len(), failures.join("\n"));
    }
}

async fn run(app: &App, hook: &str, case: &Path, update: bool) -> Result<(), String> {
    if let Some(file) =
        files(case).into_iter().find(|file| !FILES.contains(&&**file) && !file.ends_with(".md"))
    {
        return Err(format!("{file} is no file of a case; the files are {}", FILES.join(", ")));
    }
    let request = request_of(call(app, hook), case)?;
    let outcome = request.await;
    let found = Actual::of(&outcome)?;
    if update {
        found.write(case)?;
    }
    found.compare(case)?;
    outcome.standard()?;
    outcome.idempotence()?;
    outcome.unknown_fields()
}

/// The request that the files of a case describe.
fn request_of(call: Call, case: &Path) -> Result<Request, String> {
    let request = match (yaml::<Value>(case, "old.yaml")?, yaml::<Value>(case, "given.yaml")?) {
        (None, Some(new)) => call.create(new),
        (Some(old), Some(new)) => call.update(old, new),
        (Some(old), None) => call.delete(old),
        (None, None) => return Err("there is no given.yaml".to_owned()),
    };
    Ok(request.with_parts(yaml(case, "request.yaml")?.unwrap_or_default()))
}

/// The results that are compared with the expected files.
struct Actual {
    object: Option<Value>,
    /// By the names of their files.
    texts: [(&'static str, Option<String>); 3],
}

impl Actual {
    fn of(outcome: &Outcome) -> Result<Self, String> {
        let (object, denied, fault, warnings) = match outcome.judged()? {
            caller::Outcome::Allowed(allowed) => {
                let object = allowed.object.clone().unwrap_or(Value::Null);
                (Some(object), None, None, &*allowed.warnings.shown)
            }
            caller::Outcome::Denied(denied) => {
                let words = denied.message.split_once(" denied the request: ");
                let mut text = words.map_or(&*denied.message, |(_, words)| words).to_owned() + "\n";
                for caller::Cause { field, message, .. } in &denied.causes {
                    text.push_str(&format!("{field}: {message}\n"));
                }
                (None, Some(text), None, &*denied.warnings.shown)
            }
            caller::Outcome::Failed(_) => (None, None, Some(outcome.text().to_owned() + "\n"), &[][..]),
        };
        let warnings = (!warnings.is_empty()).then(|| warnings.join("\n") + "\n");
        let texts = [("denied.txt", denied), ("fault.txt", fault), ("warnings.txt", warnings)];
        Ok(Self { object, texts })
    }

    fn compare(&self, case: &Path) -> Result<(), String> {
        let mut problems = String::new();
        match (yaml(case, "expect.yaml")?, &self.object) {
            (Some(expected), Some(object)) => problems.push_str(&diff::lines(&expected, object)),
            (None, Some(_)) => problems.push_str("  it was allowed, and there is no expect.yaml\n"),
            (Some(_), None) => problems.push_str("  it was not allowed, and there is an expect.yaml\n"),
            (None, None) => {}
        }
        for (file, found) in &self.texts {
            let expected = read(&case.join(file))?;
            if expected.as_deref().map(str::trim) != found.as_deref().map(str::trim) {
                for (sign, text) in [('-', &expected), ('+', found)] {
                    for line in text.iter().flat_map(|text| text.lines()) {
                        problems.push_str(&format!("  {sign} {file}: {line}\n"));
                    }
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(format!("not as expected\n{problems}")) }
    }

    fn write(&self, case: &Path) -> Result<(), String> {
        let file = case.join("expect.yaml");
        match &self.object {
            // A file with the same value stays as it is, with its comments.
            Some(object) if yaml(case, "expect.yaml").is_ok_and(|found| found.as_ref() == Some(object)) => {}
            Some(object) => {
                let text = serde_saphyr::to_string(object).map_err(|error| error.to_string())?;
                write(&file, Some(&text))?;
            }
            None => write(&file, None)?,
        }
        self.texts.iter().try_for_each(|(file, text)| write(&case.join(file), text.as_ref()))
    }
}

fn write(file: &Path, text: Option<&String>) -> Result<(), String> {
    let done = match text {
        Some(text) => fs::write(file, text),
        None if file.exists() => fs::remove_file(file),
        None => Ok(()),
    };
    done.map_err(|error| format!("{} cannot be written: {error}", file.display()))
}

/// `None` where there is no such file.
fn read(file: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", file.display())),
    }
}

/// `None` where there is no such file.
fn yaml<T: for<'de> Deserialize<'de>>(case: &Path, file: &str) -> Result<Option<T>, String> {
    let text = read(&case.join(file))?;
    text.map(|text| serde_saphyr::from_str(&text).map_err(|error| format!("{file}: {error}"))).transpose()
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn files(folder: &Path) -> Vec<String> {
    entries(folder).iter().filter(|path| path.is_file()).map(|path| name(path)).collect()
}

/// All entries but hidden files.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.retain(|path| !name(path).starts_with('.'));
    entries.sort();
    entries
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
