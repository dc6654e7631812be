//! The completions and manual pages that the binary prints.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::tarball::Contents;
use crate::{cargo, files};

/// Shells, the names under which they find completions, and the word by which they register them.
const COMPLETIONS: [(&str, &str, &str); 4] = [
    ("bash", "completions/vestibule.bash", "complete -F _vestibule"),
    ("zsh", "completions/_vestibule", "#compdef vestibule"),
    ("fish", "completions/vestibule.fish", "complete -c vestibule"),
    ("powershell", "completions/_vestibule.ps1", "Register-ArgumentCompleter"),
];

/// Completions and manual pages, printed by the binary itself.
pub(crate) fn contents(binary: &Path) -> anyhow::Result<Contents> {
    let mut contents = Contents::new();
    let printed = |arguments: &[&str]| cargo::output(Command::new(binary).args(arguments));
    for (shell, path, _) in COMPLETIONS {
        contents.insert(path.to_owned(), (0o644, printed(&["completions", shell])?.into_bytes()));
    }
    let folder = tempfile::tempdir()?;
    printed(&["man", "--dir", &folder.path().to_string_lossy()])?;
    for path in files::list(folder.path())? {
        contents.insert(format!("man/man1/{}", files::name(&path)), (0o644, files::read_bytes(&path)?));
    }
    Ok(contents)
}

/// Checks the generated files: completions that each shell registers, and a page of each command that `--help` lists. `smoke` calls
/// this with the binary of a change and with that of a release.
pub(crate) fn check(binary: &Path) -> anyhow::Result<()> {
    let contents = contents(binary)?;
    let help = cargo::output(Command::new(binary).arg("--help"))?;
    let pages = commands(&help).map(|command| (format!("man/man1/vestibule-{command}.1"), ".TH vestibule-"));
    let pages: Vec<_> = pages.collect();
    if pages.len() < 2 {
        bail!("`--help` lists no commands:\n{help}");
    }
    let completions = COMPLETIONS.map(|(_, path, word)| (path.to_owned(), word));
    for (path, word) in pages.into_iter().chain(completions) {
        let (_, text) = contents.get(&path).with_context(|| format!("the archive has no {path}"))?;
        if !String::from_utf8_lossy(text).contains(word) {
            bail!("{path} has no `{word}`");
        }
    }
    Ok(())
}

/// The commands in a help text; each line of the list begins with one.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let (_, list) = help.split_once("Commands:").unwrap_or_default();
    let words = list.lines().skip(1).map_while(|line| line.split_whitespace().next());
    words.filter(|command| *command != "help")
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn the_commands_of_a_help_text_have_pages() {
        let help = "Does it\n\nCommands:\n  try    Shows\n  serve  Serves\n  help   Prints\n\nOptions:\n  -h  Prints\n";
        assert_eq!(commands(help).collect::<Vec<_>>(), ["try", "serve"]);
        assert_eq!(commands("Usage: other").count(), 0);
    }
}
