//! The report for people.

use std::time::SystemTime;

use vestibule_pki::ring::{AuthorityFacts, Facts, RingFacts, Role};

use super::ring_report::{RegistrationReport, RingReport};
use crate::certs::probe::Probed;
use crate::certs::report_text::ReportText;
use crate::certs::time::{date, left, moment_time, span, system_time};
use crate::colour::{Palette, Style};

pub(super) fn write(report: &RingReport, leaf: Option<&Probed>, now: SystemTime, palette: Palette) -> String {
    let mut table = Table { report: ReportText::new(palette), now };
    table.ring(report);
    for registration in &report.registrations {
        table.registration(registration);
    }
    if report.registrations.is_empty() && report.notes.is_empty() && report.ring.facts().is_some() {
        table.report.line(format_args!(
            "no configuration has an annotation of this ring: name its configurations with --registration"
        ));
    }
    if let Some(leaf) = leaf {
        table.leaf(leaf);
    }
    for note in &report.notes {
        table.report.line(format_args!("note: {note}"));
    }
    table.report.into_text()
}

struct Table {
    report: ReportText,
    now: SystemTime,
}

impl Table {
    fn ring(&mut self, report: &RingReport) {
        let heading = format!("ring {}", report.secret);
        let bad = match &report.ring {
            RingFacts::Known(_) | RingFacts::Newer(Some(_)) => None,
            RingFacts::Absent => Some((
                "there is none (no Secret, or an empty one)".to_owned(),
                "no replica has made it yet, or it is another one: --secret and --namespace name it",
            )),
            RingFacts::Unreadable => Some((
                format!("cannot be used: {}", report.problem.as_deref().unwrap_or_default()),
                "a replica makes it anew and says so in its log; if the Secret is not a ring's, name another with --secret",
            )),
            RingFacts::Newer(None) => Some((
                "written by a newer version that this one does not understand".to_owned(),
                "look at it with that version",
            )),
        };
        if let Some((bad, advice)) = bad {
            self.report.marked(&[(Style::Heading, &heading), (Style::Removed, &bad)], format_args!(""));
            self.report.line(format_args!("  what to do: {advice}"));
            return;
        }
        let Some(ring) = report.ring.facts() else { return };
        self.report.marked(
            &[(Style::Heading, &heading)],
            format_args!("  generation {}, lineage {}", ring.generation, ring.lineage),
        );
        self.authorities(ring);
        let due = moment_time(ring.due);
        self.report.line(format_args!("  next rotation {} ({})", date(due), left(due, self.now)));
        if ring.rotation.is_open() {
            self.report.line(format_args!("  a rotation was requested and has not happened yet"));
        }
        if ring.revocation.is_open() {
            self.report.line(format_args!("  a revocation was requested and has not happened yet"));
        }
    }

    fn authorities(&mut self, ring: &Facts) {
        let mut rows = vec![["CA", "ROLE", "NOT AFTER", "TIME LEFT", "REMARK"].map(str::to_owned)];
        let mut authorities: Vec<_> = ring.authorities.iter().collect();
        authorities.sort_by_key(|ca| ca.state.role().0);
        rows.extend(authorities.into_iter().map(|ca| {
            let end = moment_time(ca.not_after);
            let left = match end.duration_since(self.now) {
                Ok(left) => span(left),
                Err(_) => "expired".to_owned(),
            };
            [ca.id.to_string(), ca.state.role().0.as_str().to_owned(), date(end), left, remark(ca)]
        }));
        let mut widths = [0; 5];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.len());
            }
        }
        for row in rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            self.report.line(format_args!("  {}", line.trim_end()));
        }
    }

    fn registration(&mut self, registration: &RegistrationReport) {
        let (style, verdict) = if registration.differences.is_empty() {
            (Style::Added, "in sync")
        } else {
            (Style::Removed, "differs")
        };
        let generation = registration
            .generation
            .map_or_else(String::new, |generation| format!(", generation {generation}"));
        let writer = registration
            .written_by
            .as_ref()
            .map_or_else(String::new, |writer| format!(", last written by {writer}"));
        self.report.marked(
            &[(Style::Heading, &registration.name), (style, &verdict)],
            format_args!("{generation}{writer}"),
        );
        for entry in &registration.entries {
            let bundle =
                if entry.authorities.is_empty() { "no CA".to_owned() } else { entry.authorities.join(" ") };
            self.report.line(format_args!("  {} -> {}  {bundle}", entry.name, entry.target));
        }
        for difference in &registration.differences {
            self.report.line(format_args!("  ! {difference}"));
        }
    }

    fn leaf(&mut self, probed: &Probed) {
        let heading = format!("leaf at {}", probed.peer);
        let (style, verdict) = if probed.refusals.is_empty() {
            (Style::Added, "accepted")
        } else {
            (Style::Removed, "would be refused")
        };
        self.report.marked(&[(Style::Heading, &heading), (style, &verdict)], format_args!(""));
        if let Some(leaf) = probed.chain.first() {
            let end = system_time(leaf.not_after);
            self.report.line(format_args!("  {}", leaf.names.join(", ")));
            self.report.line(format_args!(
                "  signed by {}, until {} ({})",
                leaf.issuer,
                date(end),
                left(end, self.now)
            ));
        }
        for refusal in &probed.refusals {
            self.report.line(format_args!("  ! {}", refusal.message));
            self.report.line(format_args!("    what to do: {}", refusal.advice));
        }
    }
}

fn remark(ca: &AuthorityFacts) -> String {
    let (role, until) = ca.state.role();
    let crossed =
        ca.cross_signature.map(|cross_signature| format!("cross-signed by {}", cross_signature.issuer));
    let held = ca.held.map(|since| format!("held since {}", date(moment_time(since))));
    let trusted = until.map(|until| format!("trusted until {}", date(moment_time(until))));
    let waits = held.is_none() && matches!(role, Role::Active | Role::Next);
    let waits = waits.then(|| "not held yet".to_owned());
    [held, waits, trusted, crossed].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
