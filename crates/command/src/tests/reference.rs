//! The page about the command line, against what the command line is.

use clap::{Arg, Command, CommandFactory};

use super::{assert_page, help_and_default};
use crate::Arguments;

/// Flags with an equivalent in code, by command.
const IN_CODE: [(&str, &str, &str); 13] = [
    ("serve", "port", "`App::port`"),
    ("serve", "listen", "`Options::new`"),
    ("serve", "metrics-listen", "`App::metrics_listen`"),
    ("serve", "service", "`App::service`"),
    ("serve", "secret", "`App::secret`"),
    ("serve", "path", "`On::path`"),
    ("manifests", "service", "`App::service`"),
    ("manifests", "secret", "`App::secret`"),
    ("manifests", "path", "`On::path`"),
    ("manifests", "image", "`App::image`"),
    ("manifests", "replicas", "`App::replicas`"),
    ("manifests", "host-network", "`App::host_network`"),
    ("manifests", "port", "`App::port`"),
];

/// The first part of the page is written by hand; the rest is generated.
const GENERATED: &str =
    "<!-- From here on: VESTIBULE_UPDATE_GOLDEN=1 cargo test -p vestibule-command --lib reference -->\n";

fn tables() -> String {
    let mut command = Arguments::command();
    command.build();
    let mut text = String::new();
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let below: Vec<_> = command.get_subcommands().filter(|below| below.get_name() != "help").collect();
        if below.is_empty() {
            text.push_str(&table(command.get_name(), command));
        }
        for below in below {
            text.push_str(&table(&format!("{} {}", command.get_name(), below.get_name()), below));
        }
    }
    text
}

fn table(title: &str, command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("\n## `{title}`\n\n{}.\n\n", about.trim_end_matches('.'));
    text.push_str("| Flag | Variable | Default | In code | Meaning |\n|---|---|---|---|---|\n");
    let is_listed =
        |argument: &&Arg| argument.get_id() != "help" && !argument.is_hide_set() && !of_a_feature(argument);
    for argument in command.get_arguments().filter(is_listed) {
        text.push_str(&row(title, argument));
    }
    text
}

/// The page is that of the usual build.
fn of_a_feature(argument: &Arg) -> bool {
    argument.get_help_heading() == Some(crate::TRACES)
}

fn row(command: &str, argument: &Arg) -> String {
    let (help, told) = help_and_default(argument);
    let default: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let default = if default.is_empty() || !argument.get_action().takes_values() {
        told.unwrap_or_default()
    } else {
        default.join(",")
    };
    let values = argument.get_value_names().unwrap_or_default().join(" ");
    let flag = match argument.get_long() {
        Some(long) if argument.get_action().takes_values() => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
        None => values,
    };
    let variable = argument.get_env().map(|name| format!("`{}`", name.to_string_lossy())).unwrap_or_default();
    let long = argument.get_long().unwrap_or_default();
    let in_code =
        IN_CODE.iter().find(|(of, flag, _)| *of == command && *flag == long).map_or("", |found| found.2);
    let code =
        |text: &str| if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) };
    let help = help.trim_end_matches('.').replace('|', "\\|");
    format!("| {} | {variable} | {} | {in_code} | {help} |\n", code(&flag), code(&default))
}

#[test]
fn the_page_is_what_the_command_line_is() {
    assert_page("command-line.md", (GENERATED, ""), &tables());
}

#[test]
fn each_flag_that_code_can_say_exists() {
    let tables = tables();
    for (command, flag, code) in IN_CODE {
        let section = tables.split_once(&format!("## `{command}`")).unwrap().1;
        let row = section.lines().find(|line| {
            line.starts_with(&format!("| `--{flag} ")) || line.starts_with(&format!("| `--{flag}`"))
        });
        assert!(row.is_some_and(|row| row.contains(code)), "{command} --{flag}");
    }
}

/// Everything that is a matter of an installation can be said by a variable.
#[test]
fn flags_have_variables_of_one_form() {
    let mut command = Arguments::command();
    command.build();
    for name in ["serve", "manifests"] {
        let command = command.find_subcommand(name).unwrap();
        for argument in command.get_arguments() {
            let Some(variable) = argument.get_env().map(|name| name.to_string_lossy().into_owned()) else {
                continue;
            };
            let usual =
                format!("VESTIBULE_{}", argument.get_long().unwrap().replace('-', "_").to_uppercase());
            assert!(variable == usual || variable == "POD_NAMESPACE", "{variable}, {usual}");
        }
    }
    let without: Vec<_> = command
        .find_subcommand("serve")
        .unwrap()
        .get_arguments()
        .filter(|argument| argument.get_env().is_none() && argument.get_id() != "help")
        .collect();
    assert!(without.is_empty(), "{without:?}");
}
