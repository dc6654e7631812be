//! The meaning of a code, from the table of codes.

use vestibule_command::CommandError;
use vestibule_rules::{CODES, Code, RuleSet};

use super::listing::wrapped;

/// The explanation of the code `id`, with an example and its finding.
pub(super) fn explained(id: &str) -> Result<String, CommandError> {
    let code = CODES.iter().find(|code| code.id.eq_ignore_ascii_case(id)).ok_or_else(|| unknown(id))?;
    let mut text =
        format!("{}: {}\n\n{}\n", code.id, code.title, wrapped(code.explanation(), WIDTH).join("\n"));
    if let Some(example) = code.example().filter(|example| example.lines().all(|line| line.len() <= WIDTH)) {
        text.push_str("\nFor example:\n\n");
        text.extend(example.lines().map(|line| format!("  {line}\n")));
        text.push_str(&finding_in(code, example));
    }
    Ok(text)
}

const WIDTH: usize = 98;

/// The finding in the example.
fn finding_in(code: &Code, example: &str) -> String {
    let found = match vestibule_injector::compile([("example.yaml", example)]) {
        Ok(rules) => RuleSet::warnings(&rules).to_vec(),
        Err(findings) => findings,
    };
    let own = found.iter().find(|finding| finding.code().id == code.id);
    let lines = own.map(ToString::to_string).unwrap_or_default();
    let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn unknown(id: &str) -> CommandError {
    if !id.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("VST")) {
        return super::no_subject(id);
    }
    let id_of = |code: Option<&&Code>| code.map_or("", |code| code.id);
    let (first, last) = (id_of(CODES.first()), id_of(CODES.last()));
    CommandError::input(format_args!("there is no code {id}: they go from {first} to {last}, with gaps"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained() {
        for code in CODES {
            let text = explained(code.id).ok().unwrap();
            assert!(text.starts_with(&format!("{}: {}\n\n", code.id, code.title)), "{text}");
        }
    }
}
