//! The knobs of a CA ring, as flags.

use std::time::Duration;

use clap::Args;
use vestibule_identity::{Algorithm, MountedFiles, RingOptions, Settings, Source, UnknownAuthorities};

use super::CommandError;
use super::conflicts::{only_with, only_with_a_ring, refuse_given};
use super::duration::duration;

/// All are optional; the defaults are those of [`RingOptions`].
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "With --identity self")]
pub(super) struct KnobArguments {
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
    /// How CAs in a caBundle that this ring did not make are treated: `drop`, or for a migration `keep` each where it
    /// is for the quarantine [default: drop]
    #[arg(long, env = "VESTIBULE_UNKNOWN_CA", value_name = "keep|drop")]
    unknown_ca: Option<UnknownAuthorities>,
    /// The organisation in the name of every CA [default: vestibule]
    #[arg(long, env = "VESTIBULE_CA_ORGANISATION", value_name = "NAME")]
    ca_organisation: Option<String>,
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

impl KnobArguments {
    pub(super) fn apply(&self, settings: Settings) -> Result<Settings, CommandError> {
        let mut knobs = RingOptions::default();
        knobs.cluster_domain.clone_from(&settings.cluster_domain);
        knobs.leaf_life = self.leaf_life.unwrap_or(knobs.leaf_life);
        knobs.ca_life = self.ca_life.unwrap_or(knobs.ca_life);
        knobs.hold = self.hold.unwrap_or(knobs.hold);
        knobs.hold_cold = self.hold_cold.unwrap_or(knobs.hold_cold);
        knobs.algorithm = self.key_algorithm.unwrap_or(knobs.algorithm);
        knobs.quarantine = self.quarantine.or(knobs.quarantine);
        knobs.unknown_ca = self.unknown_ca.unwrap_or(knobs.unknown_ca);
        if let Some(organisation) = &self.ca_organisation {
            knobs.organisation.clone_from(organisation);
        }
        knobs.apply(settings).map_err(CommandError::input)
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

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::tests::defaults_in_the_help;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        knobs: KnobArguments,
        #[command(flatten)]
        mounted: MountedArguments,
    }

    #[test]
    fn the_defaults_in_the_help_are_the_defaults() {
        let told = defaults_in_the_help(&Command::command());
        assert_eq!(told.len(), 2 * 10, "{told:?}");
        let given = Command::parse_from(std::iter::once("serve".to_owned()).chain(told));
        let settings = |knobs: &KnobArguments| knobs.apply(Settings::default()).unwrap();
        let (told, default) = (settings(&given.knobs), settings(&KnobArguments::default()));
        assert_eq!(told.policy, default.policy);
        assert_eq!((told.algorithm, told.organisation), (default.algorithm, default.organisation));
        assert_eq!(given.mounted.files(), MountedFiles::default());
    }
}
