//! `version`: the versions of the binary, of the rule format, and of the definitions that it installs.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use vestibule::admission::keys;
use vestibule_rules::{API_VERSION, CustomResource, custom_resource};

use crate::render::Format;
use crate::{Failure, install, print};

/// Prints the version of the program, of the format of rules, and of the definitions that it installs.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule version
  vestibule version -o json")]
pub(crate) struct Arguments {
    /// The output format.
    #[arg(long, short, value_enum, default_value = "text", value_name = "FORMAT")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let definitions = definitions();
    print(&arguments.output.render(|| Ok(text(&definitions)), || Ok(json(&definitions)))?)?;
    Ok(ExitCode::SUCCESS)
}

fn text(definitions: &[Definition]) -> String {
    let kinds = CustomResource::ALL.map(CustomResource::kind).join(", ");
    let mut text = format!(
        "vestibule    {}\nplatform     {}\nimage        {}\nrules        {API_VERSION} ({kinds})\n",
        env!("CARGO_PKG_VERSION"),
        platform(),
        install::IMAGE
    );
    for (name, versions) in definitions {
        text.push_str(&format!("definition   {name} ({})\n", versions.join(", ")));
    }
    text
}

fn json(definitions: &[Definition]) -> Value {
    let definitions = definitions.iter();
    let definitions = definitions.map(|(name, versions)| json!({"name": name, "versions": versions}));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "platform": platform(),
        "image": install::IMAGE,
        "rules": {"apiVersion": API_VERSION, "kinds": CustomResource::ALL.map(CustomResource::kind)},
        "definitions": definitions.collect::<Vec<_>>(),
    })
}

/// The name of a definition, and the versions that it serves.
type Definition = (String, Vec<String>);

fn definitions() -> Vec<Definition> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let definitions = custom_resource::definitions(keys::schema("", "v1", "Pod"));
    let definitions = definitions.iter().map(|definition| {
        let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
        let served = versions.filter(|version| version["served"] == true);
        (text(&definition["metadata"]["name"]), served.map(|version| text(&version["name"])).collect())
    });
    definitions.collect()
}

/// As in `uname`: `linux/x86_64`.
fn platform() -> String {
    format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH)
}
