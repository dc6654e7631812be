//! The pages about flags, against the flags.

mod limits;
mod reference;

use clap::{Arg, Command, Parser};
use k8s_openapi::api::core::v1::Pod;
use vestibule::Operation::Create;
use vestibule::prometheus_client::metrics::counter::Counter;
use vestibule::{App, Context, FailurePolicy, Reject, on};

use super::Arguments;

/// Compares the generated part of a page in `docs/reference`, between `begin` and `end`, with `generated`, or writes it if
/// `VESTIBULE_UPDATE_GOLDEN` is set.
fn assert_page(page: &str, (begin, end): (&str, &str), generated: &str) {
    let path = format!("{}/tests/pages/{page}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(begin).expect("the mark above the tables");
    let (found, after) = rest.split_at(rest.rfind(end).expect("the mark below the tables"));
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, format!("{before}{begin}{generated}{after}")).unwrap();
    }
    let palette = crate::colour::When::Never.palette();
    assert!(found == generated, "{}", crate::diff::unified(found, generated, palette));
}

/// The help of a flag, and the default that ends it. A default that depends on other flags is described in the help.
fn help_and_default(argument: &Arg) -> (String, Option<String>) {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    match help.split_once(" [default: ") {
        Some((help, default)) => (help.to_owned(), Some(default.trim_end_matches(']').to_owned())),
        None => (help, None),
    }
}

#[test]
fn the_examples_in_the_help_are_commands_of_the_webhooks_own_binary() {
    fn examples(command: &mut Command) -> String {
        let own = command.render_long_help().to_string();
        command.get_subcommands_mut().fold(own, |text, subcommand| text + &examples(subcommand))
    }
    let help = examples(&mut crate::command_line("labeller"));
    assert!(help.contains("  labeller certs rotate --service demo/hooks"), "{help}");
    assert!(help.contains("  labeller loglevel debug --for 10m -n webhooks"), "{help}");
    assert!(!help.contains("  vestibule "), "{help}");
}

#[tokio::test]
async fn a_metric_without_a_valid_name_is_an_error_in_the_apps_code() {
    async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> {
        Ok(pod)
    }
    let folder = tempfile::tempdir().unwrap();
    let identity = format!("--identity=local:{}", folder.path().display());
    let flags =
        ["demo", "serve", "--listen=127.0.0.1:0", "--metrics-listen=off", "--dns=localhost", &identity];
    let crate::Command::Serve(serve) = Arguments::parse_from(flags).command else { panic!("serve") };
    let app = App::new("demo")
        .mutate("same", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), same)
        .metrics(|registry| registry.register("bad name", "", Counter::<u64>::default()));
    assert_eq!(serve.serve(app).await.unwrap_err().code, 2);
}

/// Every flag whose help ends with a value as its default, each with that value.
pub(crate) fn defaults_in_the_help(command: &Command) -> Vec<String> {
    let told = command.get_arguments().filter_map(|argument| {
        let default = help_and_default(argument).1.filter(|default| !default.starts_with("--"))?;
        Some([format!("--{}", argument.get_long()?), default])
    });
    told.flatten().collect()
}
