//! `manifests`: what registers the hooks.

use std::io::Write;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use vestibule_identity::Source;

use super::{CommandError, say};
use crate::{App, Target};

/// What to print, and where the API server will find the webhook.
#[derive(Args, Clone, Debug)]
pub struct ManifestsArguments {
    /// The part to print.
    #[arg(long, value_enum, default_value = "registration")]
    only: Part,
    /// The Service in front of the webhook: NAMESPACE/NAME, with :PORT where that is not 443.
    #[arg(long, env = "VESTIBULE_SERVICE", value_name = "NS/NAME", value_parser = Target::service)]
    #[arg(conflicts_with = "url", required_unless_present = "url")]
    service: Option<Target>,
    /// Where the API server reaches a webhook outside the cluster: https://HOST:PORT.
    #[arg(long, value_parser = Target::url)]
    url: Option<Target>,
    /// Where the CA comes from: local:DIR uses the one in DIR, or makes one there.
    #[arg(long, env = "VESTIBULE_IDENTITY", value_name = "SOURCE")]
    identity: Source,
}

/// A part of the manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Part {
    /// The webhook configurations.
    Registration,
}

impl ManifestsArguments {
    /// Prints the manifests of `app` as YAML on stdout.
    ///
    /// # Errors
    /// The app or the identity is not in order, or nobody reads stdout.
    pub fn print(&self, app: &App) -> Result<(), CommandError> {
        let mut yaml = String::new();
        for object in self.registration(app)? {
            yaml.push_str("---\n");
            yaml.push_str(&serde_saphyr::to_string(&object).map_err(CommandError::running)?);
        }
        std::io::stdout().write_all(yaml.as_bytes()).map_err(CommandError::running)
    }

    /// A folder that was misspelt would be registered without a word, and nobody would trust the server.
    fn tell_of_a_new_authority(&self) {
        if let Source::Local(folder) = &self.identity
            && !folder.join("ca.crt").exists()
        {
            let folder = folder.display();
            say(format_args!("note: a new CA is made in {folder}; `serve` must use the same folder"));
        }
    }

    fn registration(&self, app: &App) -> Result<Vec<serde_json::Value>, CommandError> {
        let Some(target) = self.service.as_ref().or(self.url.as_ref()) else {
            return Err(CommandError::input(
                "say where the webhook is: --service NS/NAME or --url https://HOST:PORT",
            ));
        };
        // Before a CA is made for it.
        app.check().map_err(CommandError::input)?;
        self.tell_of_a_new_authority();
        let identity =
            self.identity.open(&target.dns_names(), SystemTime::now()).map_err(CommandError::input)?;
        let registration = app
            .registration(target, &identity.ca_bundle().unwrap_or_default())
            .map_err(CommandError::input)?;
        Ok(registration.objects())
    }
}
