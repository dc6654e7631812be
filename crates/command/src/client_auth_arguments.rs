//! The flags of client authentication: which callers are admitted, and by which certificates or tokens.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::CommandError;
use super::conflicts::{refuse_given, without_an_image};
use vestibule::server::ClientAuthentication;
use vestibule::{App, ClientSettings, Target, TokenSettings};
use vestibule_manifests::{Files, Installation};

/// How callers identify themselves.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Callers")]
pub(super) struct ClientAuthArguments {
    /// Whether callers are checked: `off`, `observe` (logs and metrics only) or `require`; probes stay open [default:
    /// off]
    #[arg(long, env = "VESTIBULE_CLIENT_AUTH", value_name = "off|observe|require")]
    client_auth: Option<ClientAuthentication>,
    /// The CAs of client certificates, in PEM; read again when it changes.
    #[arg(long, env = "VESTIBULE_CLIENT_CA", value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// A client that may call: the common name, a DNS name or a URI of a certificate, the subject of a token; may be
    /// given several times. Needed, unless --any-client is given.
    #[arg(long, env = "VESTIBULE_CLIENT_NAME", value_delimiter = ',', value_name = "NAME")]
    client_name: Vec<String>,
    /// Every client with a certificate of a CA in --client-ca may call. With the cluster's own CA that is every node
    /// and every user with a certificate.
    #[arg(long, env = "VESTIBULE_ANY_CLIENT")]
    any_client: bool,
    /// The issuer of accepted bearer tokens: the API server's --service-account-issuer.
    #[arg(long, env = "VESTIBULE_TOKEN_ISSUER", value_name = "URL")]
    token_issuer: Option<String>,
    /// The audience that tokens must have; may be given several times. Default: https://NAME.NS.svc:PORT of the
    /// Service, with the path of a hook or without.
    #[arg(long, env = "VESTIBULE_TOKEN_AUDIENCE", value_delimiter = ',', value_name = "AUDIENCE")]
    token_audience: Vec<String>,
    /// The issuer's public keys, a JSON Web Key Set; read again when it changes. Default: the keys that the API server
    /// publishes.
    #[arg(long, env = "VESTIBULE_TOKEN_KEYS", value_name = "FILE")]
    token_keys: Option<PathBuf>,
}

impl ClientAuthArguments {
    /// For `app` behind `service`.
    pub(super) fn settings(
        &self,
        app: &App,
        service: Option<&Target>,
    ) -> Result<ClientSettings, CommandError> {
        let mut settings = ClientSettings::new(self.client_auth.unwrap_or_default());
        if settings.authentication == ClientAuthentication::Off {
            refuse_given(&self.given(), |flag| {
                CommandError::input(format_args!(
                    "{flag} names callers, and `--client-auth off` checks none: take observe or require"
                ))
            })?;
            return Ok(settings);
        }
        if self.any_client && !self.client_name.is_empty() {
            return Err(CommandError::input(
                "--any-client and --client-name contradict each other: give one of them",
            ));
        }
        settings.authorities.clone_from(&self.client_ca);
        settings.names.clone_from(&self.client_name);
        settings.any_client = self.any_client;
        settings.tokens = self.tokens(app, service)?;
        if settings.authorities.is_none() && settings.tokens.is_none() {
            return Err(CommandError::input(format_args!(
                "`--client-auth {}` needs a way to identify clients: give --client-ca FILE or --token-issuer URL",
                settings.authentication
            )));
        }
        if settings.authorities.is_some() && settings.names.is_empty() && !self.any_client {
            return Err(CommandError::input(
                "--client-ca alone would let every client of that CA call: name the API server's certificate with \
                 --client-name NAME, or give --any-client if the CA signs for the API server alone",
            ));
        }
        if settings.tokens.is_some() && settings.names.is_empty() {
            return Err(CommandError::input(
                "the owner of any namespace can make tokens for any audience: name the callers with --client-name, as in \
                 system:serviceaccount:NAMESPACE:NAME",
            ));
        }
        Ok(settings)
    }

    /// Gives the pods the same flags, and the files in a ConfigMap.
    pub(super) fn apply(&self, app: &App, installation: &mut Installation) -> Result<(), CommandError> {
        let settings = self.settings(app, Some(&installation.target))?;
        if settings.authentication == ClientAuthentication::Off {
            return Ok(());
        }
        installation.reads_token_keys = settings.needs_client();
        let mut arguments = vec![format!("--client-auth={}", settings.authentication)];
        arguments.extend(self.any_client.then(|| "--any-client".to_owned()));
        for (flag, values) in [("client-name", &self.client_name), ("token-audience", &self.token_audience)] {
            arguments.extend(values.iter().map(|value| format!("--{flag}={value}")));
        }
        arguments.extend(self.token_issuer.iter().map(|issuer| format!("--token-issuer={issuer}")));
        for (flag, file, path) in
            [("client-ca", "ca.crt", &self.client_ca), ("token-keys", "keys.json", &self.token_keys)]
        {
            let Some(path) = path else { continue };
            let content = read(path)?;
            refuse_secrets(path, &content)?;
            let folder = format!("/etc/vestibule/{flag}");
            arguments.push(format!("--{flag}={folder}/{file}"));
            let mut files = Files::new(flag, folder);
            files.contents.insert(file.to_owned(), content);
            installation.files.push(files);
        }
        installation.arguments.extend(arguments);
        Ok(())
    }

    /// Refuses these flags if no pods are printed.
    pub(super) fn refuse_without_an_image(&self) -> Result<(), CommandError> {
        refuse_given(&self.given(), without_an_image)?;
        refuse_given(&[("--client-auth", self.client_auth.is_some())], without_an_image)
    }

    fn tokens(&self, app: &App, service: Option<&Target>) -> Result<Option<TokenSettings>, CommandError> {
        let Some(issuer) = &self.token_issuer else {
            let lost = [
                ("--token-audience", !self.token_audience.is_empty()),
                ("--token-keys", self.token_keys.is_some()),
            ];
            refuse_given(&lost, |flag| {
                CommandError::input(format_args!("{flag} is about tokens: give --token-issuer URL too"))
            })?;
            return Ok(None);
        };
        let audiences = match (&self.token_audience[..], service) {
            ([], Some(service)) => audiences(app, service),
            (given, _) => given.to_vec(),
        };
        if audiences.is_empty() {
            return Err(CommandError::input(
                "the audience of tokens is unknown: give --service NS/NAME or --token-audience AUDIENCE",
            ));
        }
        let mut tokens = TokenSettings::new(issuer, audiences);
        tokens.keys.clone_from(&self.token_keys);
        Ok(Some(tokens))
    }

    fn given(&self) -> [(&'static str, bool); 6] {
        [
            ("--client-ca", self.client_ca.is_some()),
            ("--client-name", !self.client_name.is_empty()),
            ("--any-client", self.any_client),
            ("--token-issuer", self.token_issuer.is_some()),
            ("--token-audience", !self.token_audience.is_empty()),
            ("--token-keys", self.token_keys.is_some()),
        ]
    }
}

/// The audiences of the API server's tokens for webhooks (KEP-6060): with the path of the hook, or without.
fn audiences(app: &App, target: &Target) -> Vec<String> {
    let (base, whole) = match target {
        Target::Service { namespace, name, port } => {
            let base = format!("https://{name}.{namespace}.svc:{port}");
            (base.clone(), Some(base))
        }
        Target::Url(url) => (url.clone(), None),
    };
    let of_hooks = app.hooks().iter().map(|hook| format!("{base}{}", hook.entry.path));
    whole.into_iter().chain(of_hooks).collect()
}

fn read(path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|error| CommandError::input(format_args!("{}: {error}", path.display())))
}

/// Printed manifests are not secret: they may hold certificates and public keys, and no private keys or shared secrets.
fn refuse_secrets(path: &Path, content: &str) -> Result<(), CommandError> {
    let refused = |what: &str, instead: &str| {
        let path = path.display();
        Err(CommandError::input(format_args!(
            "{path} holds {what}, and manifests are no place for it: {instead}"
        )))
    };
    if content.contains("PRIVATE KEY-----") {
        return refused("a private key", "give a file with the CERTIFICATE sections alone");
    }
    match serde_json::from_str(content) {
        Ok(keys) if has_private_member(&keys) => {
            refused("private keys or shared secrets (`d`, `k`)", "give the public keys alone")
        }
        _ => Ok(()),
    }
}

/// Whether a JSON Web Key in `keys`, at any depth, has a member of a private key (RFC 7518 6.2.2, 6.3.2, 6.4).
fn has_private_member(keys: &Value) -> bool {
    match keys {
        Value::Object(members) => {
            let is_secret = |name: &str| ["d", "k"].contains(&name);
            members.iter().any(|(name, value)| is_secret(name) || has_private_member(value))
        }
        Value::Array(values) => values.iter().any(has_private_member),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
