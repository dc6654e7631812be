//! A picture of the panels, drawn from the answers of Prometheus: no Grafana runs here.

mod chart;
mod text;

use std::fmt::Write;

use self::text::{escaped, shown};
use crate::panels::Panel;

const WIDTH: f64 = 1200.0;
const GAP: f64 = 8.0;
const HEADER: f64 = 46.0;
const ROW: f64 = 26.0;
const NUMBER: f64 = 76.0;
const CHART: f64 = 216.0;

/// A rectangle of the picture.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// The dashboard as SVG. `trouble` is the second at which the trouble began.
pub(crate) fn draw(panels: &[Panel], trouble: f64, date: &str) -> String {
    let (mut body, mut top, mut left) = (String::new(), HEADER, 0.0);
    let end = panels.iter().flat_map(|panel| &panel.queries).flat_map(|query| &query.series);
    let end = end.filter_map(|series| series.samples.last()).map(|(at, _)| *at).fold(1.0, f64::max);
    let mut row = "";
    let mut height = 0.0;
    for panel in panels {
        if panel.row != row {
            row = &panel.row;
            top += height;
            left = 0.0;
            height = if panel.is_number { NUMBER } else { CHART } + GAP;
            let _ = writeln!(
                body,
                "<text x=\"{GAP}\" y=\"{:.0}\" font-size=\"14\" font-weight=\"bold\">{}</text>",
                top + 18.0,
                escaped(row)
            );
            top += ROW;
        }
        let width = WIDTH * panel.width;
        let area = Area { left: left + GAP / 2.0, top, width: width - GAP, height: height - GAP };
        left += width;
        frame(&mut body, panel, area);
        if panel.is_number {
            number(&mut body, panel, area);
        } else {
            chart::draw(&mut body, panel, area, end, trouble);
        }
    }
    let height = top + height;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"The panels of the dashboard, with data of a run\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f4f5f5\"/>\n\
         <g font-family=\"'DejaVu Sans', Verdana, sans-serif\" font-size=\"11\" fill=\"#24292e\">\n\
         <text x=\"{GAP}\" y=\"20\" font-size=\"16\" font-weight=\"bold\">Vestibule</text>\n\
         <text x=\"{GAP}\" y=\"38\">The panels of deploy/dashboard.json on {date}, drawn by cargo xtask watching from the answers of \
         Prometheus, not by Grafana. The dashed line is the begin of the troubles.</text>\n{body}</g>\n</svg>\n"
    )
}

fn frame(body: &mut String, panel: &Panel, Area { left, top, width, height }: Area) {
    let _ = writeln!(
        body,
        "<rect x=\"{left:.0}\" y=\"{top:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"3\" fill=\"#fff\" \
         stroke=\"#d8d9da\"/>\n<text x=\"{:.0}\" y=\"{:.0}\" font-weight=\"bold\">{}</text>",
        left + 8.0,
        top + 17.0,
        escaped(&panel.title)
    );
}

/// The last value, on the colour of its threshold.
fn number(body: &mut String, panel: &Panel, Area { left, top, width, height }: Area) {
    let series = panel.queries.first().and_then(|query| query.series.first());
    let last = series.and_then(|series| series.samples.last()).map(|(_, value)| *value);
    let reached = panel.steps.iter().rev().find(|(from, _)| last.is_some_and(|last| last >= *from));
    let colour = match reached.map(|(_, colour)| colour.as_str()) {
        Some("green") => "#3b9b46",
        Some("red") => "#d0342c",
        _ => "#777",
    };
    let _ = writeln!(
        body,
        "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"3\" fill=\"{colour}\"/>\n\
         <text x=\"{:.0}\" y=\"{:.0}\" font-size=\"20\" fill=\"#fff\" text-anchor=\"middle\">{}</text>",
        left + 6.0,
        top + 25.0,
        width - 12.0,
        height - 31.0,
        left + width / 2.0,
        top + 25.0 + (height - 31.0) / 2.0 + 7.0,
        last.map_or_else(|| "no data".to_owned(), |last| shown(last, &panel.unit))
    );
}
