//! The reference page of the commands, compared with the command line.

use clap::{Arg, Command, CommandFactory};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages/vestibule.md");

/// The part of the page above this line is written by hand; the rest is generated.
const GENERATED: &str =
    "<!-- From here on: VESTIBULE_UPDATE_GOLDEN=1 cargo test -p vestibule-cli --bins reference -->\n";

/// Commands that every webhook's binary has: docs/reference/command-line.md tells their flags.
const COMMON: [&str; 5] = ["serve", "manifests", "certs", "loglevel", "help"];

fn sections() -> String {
    let mut command = crate::Arguments::command();
    command.build();
    let own = command.get_subcommands().filter(|command| !COMMON.contains(&command.get_name()));
    GENERATED.to_owned() + &own.map(section).collect::<String>()
}

fn section(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("\n## `{}`\n\n{}\n\n", command.get_name(), about.trim());
    text.push_str("| Flag | Variable | Default | Meaning |\n|---|---|---|---|\n");
    let arguments = command.get_arguments().filter(|argument| argument.get_id() != "help");
    text.extend(arguments.map(row));
    if !examples.is_empty() {
        text.push_str(&format!("\n```text\n{examples}\n```\n"));
    }
    text
}

fn row(argument: &Arg) -> String {
    let code = |text: &str| match text {
        "" => String::new(),
        text => format!("`{}`", text.replace('|', "\\|")),
    };
    let takes = argument.get_action().takes_values();
    let values = argument.get_value_names().unwrap_or_default().join(" ");
    let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let flag = match argument.get_long() {
        Some(long) if takes => format!("{short}--{long} {values}"),
        Some(long) => format!("{short}--{long}"),
        None => values,
    };
    let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
    let default = defaults.filter(|_| takes).collect::<Vec<_>>().join(",");
    let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let words: Vec<String> = match takes {
        true => {
            argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect()
        }
        false => Vec::new(),
    };
    if !words.is_empty() {
        help = format!("{}: {}", help.trim_end_matches('.'), words.join(", "));
    }
    let help = help.trim_end_matches('.').replace('|', "\\|");
    format!("| {} | {} | {} | {help} |\n", code(&flag), code(&variable), code(&default))
}

#[test]
fn the_reference_page_is_what_the_command_line_is() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (words, found) = page.split_at(page.find(GENERATED).expect("the mark above the sections"));
    let sections = sections();
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(PAGE, format!("{words}{sections}")).unwrap();
        return;
    }
    let plain = vestibule_command::colour::When::Never.palette();
    assert!(found == sections, "{}", vestibule_command::diff::unified(found, &sections, plain));
}
