//! `certs check`: would kube-apiserver accept this server?

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use vestibule_pki::CertificateFacts;

use super::print;
use super::probe::{Probe, ProbeError, Probed};
use super::report_text::ReportText;
use super::time::{date, left, system_time};
use crate::CommandError;
use crate::colour::{Palette, Style, When};

/// Connects as kube-apiserver does, and prints its verdict: the presented certificate, whether the CA signed it and it
/// is for this name, and what to do if not.
///
/// Nothing is sent but the handshake. Exit code: 0 accepted, 1 would be refused, 2 bad input, 3 not reachable.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule certs check 127.0.0.1:10250 --ca certs/ca.crt --dns hooks.demo.svc

  kubectl -n demo port-forward svc/hooks 8443:443 &
  kubectl get mutatingwebhookconfiguration hooks -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 -d |
    vestibule certs check 127.0.0.1:8443 --ca /dev/stdin --dns hooks.demo.svc")]
pub(super) struct Arguments {
    /// The address of the server.
    #[arg(value_name = "HOST:PORT")]
    address: String,
    /// The CA bundle in PEM, as in `caBundle` (there in base64).
    #[arg(long, value_name = "FILE")]
    ca: PathBuf,
    /// The name that the API server asks for: NAME.NAMESPACE.svc for a Service, else the URL's host.
    #[arg(long, value_name = "NAME")]
    dns: String,
    /// How long to wait for a connection, and again for the handshake.
    #[arg(long, default_value = "10s", value_parser = crate::duration::duration)]
    timeout: Duration,
    /// When to colour. `auto` follows NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: When,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<ExitCode, CommandError> {
        if self.timeout.is_zero() {
            return Err(CommandError::input("--timeout 0s leaves no time to connect: write `10s`"));
        }
        let bundle = std::fs::read(&self.ca).map_err(|error| {
            CommandError::input(format_args!("cannot read {}: {error}", self.ca.display()))
        })?;
        let mut probe = Probe::new(&self.address, &self.dns, &String::from_utf8_lossy(&bundle));
        probe.timeout = self.timeout;
        let now = SystemTime::now();
        let probed = probe.run(now).map_err(not_probed)?;
        print(&report(&probe, &probed, now, self.color.palette()))?;
        Ok(if probed.refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// The verdict on a server that cannot be reached.
pub(super) fn not_probed(error: ProbeError) -> CommandError {
    match error {
        ProbeError::Unreachable { .. } => CommandError::unreachable(error),
        other => CommandError::input(other),
    }
}

fn report(probe: &Probe, probed: &Probed, now: SystemTime, palette: Palette) -> String {
    let mut report = ReportText::new(palette);
    let tls = probed.tls.unwrap_or("no TLS");
    report.line(format_args!("{} as {}, {tls}", probe.address, probe.name));
    for (position, certificate) in probed.chain.iter().enumerate() {
        let what = if position == 0 { "certificate" } else { "intermediate" };
        describe(&mut report, what, certificate, now);
    }
    for authority in &probed.bundle {
        describe(&mut report, "trusted CA", authority, now);
    }
    if probed.asks_for_certificate {
        report
            .line(format_args!("the server asks for a client certificate; kube-apiserver usually has none"));
    }
    if probed.refusals.is_empty() {
        report.marked(&[(Style::Added, &"accepted:")], format_args!(" kube-apiserver would accept it"));
    }
    for (position, refusal) in probed.refusals.iter().enumerate() {
        report.marked(&[(Style::Removed, &"refused:")], format_args!(" {}", refusal.message));
        if let Some(go) = &refusal.go {
            // The API server stops at the first problem.
            let says = if position == 0 { "kube-apiserver says" } else { "it would say then" };
            report.line(format_args!("  {says}: {go}"));
        }
        report.line(format_args!("  what to do: {}", refusal.advice));
    }
    report.into_text()
}

fn describe(report: &mut ReportText, what: &str, certificate: &CertificateFacts, now: SystemTime) {
    let (begin, end) = (system_time(certificate.not_before), system_time(certificate.not_after));
    report.line(format_args!("{what}: {} ({})", certificate.subject, certificate.key_algorithm));
    if !certificate.names.is_empty() {
        report.line(format_args!("  names   {}", certificate.names.join(", ")));
    }
    if !certificate.permitted_domains.is_empty() {
        report.line(format_args!("  signs   only for {}", certificate.permitted_domains.join(", ")));
    }
    if certificate.issuer != certificate.subject {
        report.line(format_args!("  issuer  {}", certificate.issuer));
    }
    report.line(format_args!("  valid   {} to {} ({})", date(begin), date(end), left(end, now)));
}
