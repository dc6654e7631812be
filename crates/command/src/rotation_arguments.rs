//! The rotation of a CA ring, as flags.

use std::time::Duration;

use clap::Args;
use rustls_pki_types::DnsName;
use vestibule_identity::{Algorithm, MountedFiles, Settings, Source, UnknownAuthorities};
use vestibule_pki::ring::PolicyProblem;

use super::CommandError;
use super::conflicts::{only_with, only_with_a_ring, refuse_given};
use super::duration::duration;

/// All are optional; the defaults are those of [`Settings`].
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "With --identity self")]
pub(super) struct RotationArguments {
    /// How long a certificate is valid, and how long a replica goes on without the API server; at least 1h [default: 7d]
    #[arg(long, env = "VESTIBULE_LEAF_LIFE", value_name = "TIME", value_parser = duration)]
    leaf_life: Option<Duration>,
    /// How long a CA is valid; it is known for a third of that before it signs. At least 30d [default: 365d]
    #[arg(long, env = "VESTIBULE_CA_LIFE", value_name = "TIME", value_parser = duration)]
    ca_life: Option<Duration>,
    /// How long the next CA must have been in every caBundle before it signs [default: 24h]
    #[arg(long, env = "VESTIBULE_HOLD", value_name = "TIME", value_parser = duration)]
    hold: Option<Duration>,
    /// The same for the first CA: how long the first start of all waits; at least 10s [default: 30s]
    #[arg(long, env = "VESTIBULE_HOLD_COLD", value_name = "TIME", value_parser = duration)]
    hold_cold: Option<Duration>,
    /// The keys of new CAs and their certificates: p256 or p384 [default: p256]
    #[arg(long, env = "VESTIBULE_KEY_ALGORITHM", value_name = "NAME")]
    key_algorithm: Option<Algorithm>,
    /// How long a CA of another ring, or of a ring that was restored, stays trusted; at least as long as a certificate lives
    /// [default: --leaf-life]
    #[arg(long, env = "VESTIBULE_QUARANTINE", value_name = "TIME", value_parser = duration)]
    quarantine: Option<Duration>,
    /// How unknown CAs in a caBundle are treated: `drop`, or for a migration `keep` for the time of the quarantine [default: drop]
    #[arg(long, env = "VESTIBULE_UNKNOWN_CA", value_name = "keep|drop")]
    unknown_ca: Option<UnknownAuthorities>,
    /// The organisation in the name of every CA [default: vestibule]
    #[arg(long, env = "VESTIBULE_CA_ORGANISATION", value_name = "NAME")]
    ca_organisation: Option<String>,
    /// Shorter waits than are supported, in place of --hold-cold, for a test: its only API server learns of a change at once
    #[cfg(debug_assertions)]
    #[arg(long, hide = true, env = "VESTIBULE_TEST_WAITS")]
    test_waits: bool,
}

/// The names of mounted files.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "With --identity mounted:DIR")]
pub(super) struct MountedArguments {
    /// The file with the certificate chain [default: tls.crt]
    #[arg(long, env = "VESTIBULE_MOUNTED_CERTIFICATE", value_name = "FILE")]
    mounted_certificate: Option<String>,
    /// The file with the key [default: tls.key]
    #[arg(long, env = "VESTIBULE_MOUNTED_KEY", value_name = "FILE")]
    mounted_key: Option<String>,
    /// The file with the CAs, which may be missing [default: ca.crt]
    #[arg(long, env = "VESTIBULE_MOUNTED_CA", value_name = "FILE")]
    mounted_ca: Option<String>,
}

impl RotationArguments {
    /// Every span below its floor, and every combination that breaks an invariant of the ring, is an error.
    pub(super) fn apply(&self, mut settings: Settings) -> Result<Settings, CommandError> {
        let policy = &mut settings.policy;
        let spans = [
            (&mut policy.leaf_life, self.leaf_life),
            (&mut policy.authority_life, self.ca_life),
            (&mut policy.hold, self.hold),
            (&mut policy.hold_cold, self.hold_cold),
        ];
        for (span, given) in spans {
            *span = given.unwrap_or(*span);
        }
        policy.quarantine = self.quarantine.or(policy.quarantine);
        policy.unknown_authorities = self.unknown_ca.unwrap_or(policy.unknown_authorities);
        settings.algorithm = self.key_algorithm.unwrap_or(settings.algorithm);
        if let Some(organisation) = &self.ca_organisation {
            settings.organisation.clone_from(organisation);
        }
        let problems = problems(&settings);
        if !problems.is_empty() {
            return Err(CommandError::input(problems.join("; ")));
        }
        #[cfg(debug_assertions)]
        if self.test_waits {
            settings.policy.hold_cold = Duration::from_secs(2);
            settings.policy.recheck = Duration::from_secs(1);
            settings.settle = Duration::from_secs(1);
        }
        Ok(settings)
    }

    pub(super) fn refuse_without_a_ring(&self, source: &Source) -> Result<(), CommandError> {
        let given = [
            ("--leaf-life", self.leaf_life.is_some()),
            ("--ca-life", self.ca_life.is_some()),
            ("--hold", self.hold.is_some()),
            ("--hold-cold", self.hold_cold.is_some()),
            ("--key-algorithm", self.key_algorithm.is_some()),
            ("--quarantine", self.quarantine.is_some()),
            ("--unknown-ca", self.unknown_ca.is_some()),
            ("--ca-organisation", self.ca_organisation.is_some()),
        ];
        refuse_given(&given, |flag| only_with_a_ring(flag, source))
    }
}

impl MountedArguments {
    pub(super) fn refuse_without_files(&self, source: &Source) -> Result<(), CommandError> {
        if matches!(source, Source::Mounted(_)) {
            return Ok(());
        }
        let given = [
            ("--mounted-certificate", self.mounted_certificate.is_some()),
            ("--mounted-key", self.mounted_key.is_some()),
            ("--mounted-ca", self.mounted_ca.is_some()),
        ];
        refuse_given(&given, |flag| only_with("mounted:DIR", flag, source))
    }

    pub(super) fn files(&self) -> MountedFiles {
        let default = MountedFiles::default();
        let or = |given: &Option<String>, default| given.clone().unwrap_or(default);
        MountedFiles {
            certificate: or(&self.mounted_certificate, default.certificate),
            key: or(&self.mounted_key, default.key),
            authority: or(&self.mounted_ca, default.authority),
            poll: default.poll,
        }
    }
}

/// One sentence for each problem of the ring's settings, naming the flag.
fn problems(settings: &Settings) -> Vec<String> {
    let found =
        [settings.policy.floors(), settings.policy.check()].into_iter().filter_map(Result::err).flatten();
    let mut problems: Vec<_> = found.map(|problem| format!("{}: {problem}", flags(&problem))).collect();
    // ` CA ` and twelve digits follow in a common name of 64 (RFC 5280, A.1: ub-common-name).
    const LONGEST: usize = 48;
    let organisation = &settings.organisation;
    if organisation.trim().is_empty() {
        problems.push("--ca-organisation is empty: every CA carries it in its name".to_owned());
    } else if organisation.chars().any(char::is_control) {
        problems.push("--ca-organisation holds control characters".to_owned());
    } else if organisation.chars().count() > LONGEST {
        problems.push(format!(
            "--ca-organisation has more than {LONGEST} characters: the CA's name holds no more"
        ));
    }
    let domain = &settings.cluster_domain;
    if DnsName::try_from(domain.as_str()).is_err() || domain.ends_with('.') {
        problems.push(format!("--cluster-domain `{domain}` is no DNS domain such as cluster.local"));
    }
    problems
}

/// The flags that a problem is about.
fn flags(problem: &PolicyProblem) -> String {
    let flag = |field: &&str| match *field {
        "authority_life" => Some("--ca-life"),
        "leaf_life" => Some("--leaf-life"),
        "hold" => Some("--hold"),
        "hold_cold" => Some("--hold-cold"),
        "quarantine" => Some("--quarantine"),
        _ => None,
    };
    let flags: Vec<_> = problem.fields.iter().filter_map(flag).collect();
    if flags.is_empty() { "the policy".to_owned() } else { flags.join(", ") }
}

#[cfg(test)]
mod tests;
