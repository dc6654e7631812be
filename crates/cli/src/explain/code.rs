//! What a code means, from the table of codes.

use vestibule::command::CommandError;
use vestibule_rules::{CODES, Code, RuleSet};

/// The explanation of the code `id`, an example with what is said about it among it.
pub(super) fn explained(id: &str) -> Result<String, CommandError> {
    let wanted = id.to_ascii_uppercase();
    let code = CODES.iter().find(|code| code.id == wanted).ok_or_else(|| unknown(&wanted))?;
    let mut text = format!("{}: {}\n\n{}\n", code.id, code.title, wrapped(code.explanation));
    if let Some(example) = code.example().filter(|example| example.lines().all(|line| line.len() <= WIDTH)) {
        text.push_str("\nFor example:\n\n");
        text.extend(example.lines().map(|line| format!("  {line}\n")));
        text.push_str(&said(code, &example));
    }
    Ok(text)
}

const WIDTH: usize = 98;

/// What the reader says about the example.
fn said(code: &Code, example: &str) -> String {
    let found = match vestibule_injector::compile([("example.yaml", example)]) {
        Ok(rules) => RuleSet::warnings(&rules).to_vec(),
        Err(findings) => findings,
    };
    let own = found.iter().find(|finding| finding.code().id == code.id);
    let lines = own.map(|finding| finding.to_string()).unwrap_or_default();
    let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn unknown(id: &str) -> CommandError {
    let known = CODES.iter().map(|code| code.id);
    let (first, last) = (known.clone().next().unwrap_or_default(), known.last().unwrap_or_default());
    CommandError::input(format_args!("there is no code {id}: they go from {first} to {last}, with gaps"))
}

fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
