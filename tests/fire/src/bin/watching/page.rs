//! The result of a run, for the terminal and as a page.

use std::fmt::{self, Write};

use crate::alerts::{ALERTS, Fired};
use crate::panels::Panel;
use crate::prometheus::FOR;
use crate::runbooks::Ran;

/// The findings of a run.
pub(crate) struct Run {
    /// The day.
    pub(crate) date: String,
    /// The version of Prometheus.
    pub(crate) version: String,
    /// Seconds of health before the troubles.
    pub(crate) trouble: f64,
    pub(crate) fired: Fired,
    pub(crate) panels: Vec<Panel>,
    pub(crate) commands: Vec<Ran>,
}

impl Run {
    /// Whether every query had data, every alert fired, none before its trouble, and every command did what it should.
    pub(crate) fn is_good(&self) -> bool {
        let has_fired = |(name, _): &(&str, &str)| self.fired.get(*name).is_some_and(|after| *after > 0.0);
        ALERTS.iter().all(has_fired)
            && self.panels.iter().flat_map(|panel| &panel.queries).all(|query| query.has_data)
            && self.commands.iter().all(|ran| ran.wrong.is_none())
    }

    /// The page about the run.
    pub(crate) fn page(&self) -> String {
        let Self { date, version, trouble, .. } = self;
        let replaced = [("DATE", date), ("VERSION", version), ("FOR", &FOR.to_owned())];
        let text = replaced.iter().fold(TEXT.to_owned(), |text, (name, value)| text.replace(name, value));
        text.replace("HEALTHY", &format!("{trouble:.0}"))
            .replace("ALERTS\n", &self.alerts())
            .replace("PANELS\n", &self.panels())
            .replace("COMMANDS\n", &self.commands())
    }

    fn alerts(&self) -> String {
        let mut table = "| Alert | Trouble | Fired after |\n|---|---|--:|\n".to_owned();
        for (name, trouble) in ALERTS {
            let after =
                self.fired.get(name).map_or_else(|| "never".to_owned(), |after| format!("{after:.0} s"));
            let _ = writeln!(table, "| [{name}](../how-to/alerts/{name}.md) | {trouble} | {after} |");
        }
        table
    }

    fn panels(&self) -> String {
        let mut table = "| Row | Panel | Series of each query |\n|---|---|---|\n".to_owned();
        for panel in &self.panels {
            let series = panel.queries.iter().map(|query| match query.empty {
                Some(reason) => format!("none: {reason}"),
                None => query.series.len().to_string(),
            });
            let series: Vec<_> = series.collect();
            let _ = writeln!(table, "| {} | {} | {} |", panel.row, panel.title, series.join(", "));
        }
        table
    }

    fn commands(&self) -> String {
        let run = self.commands.iter().filter(|ran| ran.left_out.is_none() && ran.wrong.is_none()).count();
        let mut text = format!(
            "{run} of {} commands were run. Not run:\n\n| Page | Command | Because |\n|---|---|---|\n",
            self.commands.len()
        );
        for ran in &self.commands {
            if let Some(reason) = ran.left_out {
                let command = ran.command.replace('|', "\\|");
                let _ =
                    writeln!(text, "| [{0}](../how-to/alerts/{0}.md) | `{command}` | {reason} |", ran.page);
            }
        }
        text
    }
}

const TEXT: &str = "\
# The dashboard, the alerts and their pages in a real run

[deploy/dashboard.json](../../deploy/dashboard.json), [deploy/alerts.yaml](../../deploy/alerts.yaml) and the
[pages about alerts](../how-to/alerts/README.md) were tried together on DATE, by
`cargo xtask watching --write`.

The command starts a real kube-apiserver, an injector that is installed by its printed manifests, a webhook whose handlers fail on
request, and Prometheus VERSION, which scrapes all of them each second. For HEALTHY seconds pods and ConfigMaps are created, a rule
changes and a CA is rotated. Then every trouble of the first table is made. The run fails if

- an alert does not fire, or fires before its trouble;
- a query of the dashboard has no data;
- a command of a page about an alert does not do what the page says.

## Alerts

`for` is FOR where an alert has one, instead of minutes to days. The expressions and their windows are those of the file.

ALERTS

## Dashboard

Each query had data for the choice `All`, or the table has the reason. [Grafana's published
types](../how-to/alerts/README.md#the-dashboard) check the file. The picture is drawn from the answers of Prometheus, not by Grafana
([ADR 0111](../adr/0111-the-picture-of-the-dashboard-is-drawn.md)).

![The panels with the data of the run](watching-run.svg)

PANELS

## Commands of the pages

The commands in the text of each page were run while the troubles lasted, with names in the place of the words in capitals.
`certs rotate` and `certs revoke` had `--yes`. The rights that the pages give back were given back: the webhook with the old CA then
wrote its Secret and its configuration. Blocks of commands are run by tests of `crates/cli`.

COMMANDS
";

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, trouble) in ALERTS {
            match self.fired.get(name) {
                Some(after) if *after > 0.0 => writeln!(f, "fired    {name}: after {after:.0} s")?,
                Some(after) => writeln!(f, "TOO SOON {name}: {after:.0} s before the trouble")?,
                None => writeln!(f, "MISSING  {name}: {trouble}")?,
            }
        }
        for panel in &self.panels {
            for query in &panel.queries {
                let verdict = if query.has_data { "data    " } else { "NO DATA " };
                let series = query.series.len();
                writeln!(f, "{verdict} {}, {}: {series} series, `{}`", panel.row, panel.title, query.legend)?;
            }
        }
        for ran in &self.commands {
            match (&ran.wrong, ran.left_out) {
                (Some(wrong), _) => writeln!(f, "WRONG    {}: {}\n{wrong}", ran.page, ran.command)?,
                (None, Some(reason)) => writeln!(f, "left out {}: {}: {reason}", ran.page, ran.command)?,
                (None, None) => writeln!(f, "ran      {}: {}", ran.page, ran.command)?,
            }
        }
        writeln!(f, "verdict  {}", if self.is_good() { "good" } else { "BAD" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of a former run would lack an alert, a panel or a command that is new.
    #[test]
    fn the_page_has_every_alert_and_every_panel() {
        let page = include_str!("../../../../../docs/reference/watching-run.md");
        for (name, trouble) in ALERTS {
            let row = format!("| [{name}](../how-to/alerts/{name}.md) | {trouble} | ");
            assert!(page.contains(&row), "{row}");
        }
        assert!(!page.contains("| never |"));
        let dashboard = include_str!("../../../../../deploy/dashboard.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        for panel in dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row") {
            let title = panel["title"].as_str().unwrap();
            assert!(page.contains(&format!("| {title} | ")), "{title}");
        }
    }
}
