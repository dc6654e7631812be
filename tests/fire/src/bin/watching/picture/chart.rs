//! A panel with lines or stacked areas over time.

use std::fmt::Write;

use super::Area;
use super::text::{escaped, shown};
use crate::panels::Panel;

const COLOURS: [&str; 10] = [
    "#56a64b", "#3274d9", "#e0b400", "#e02f44", "#a352cc", "#ff780a", "#37872d", "#1f60c4", "#8f3bb8",
    "#777777",
];
/// Columns of a chart. More would only make the file larger.
const COLUMNS: usize = 90;
/// Lines of a chart, the largest; more cannot be told apart.
const MOST: usize = 8;
const LEGEND_LINE: f64 = 13.0;

/// A line: the value in each column that has one.
struct Line {
    name: String,
    values: Vec<Option<f64>>,
}

/// Draws the panel from second 0 to `end`.
pub(super) fn draw(body: &mut String, panel: &Panel, area: Area, end: f64, trouble: f64) {
    let mut lines = lines(panel, end);
    let all = lines.len();
    lines.sort_by(|one, other| peak(other).total_cmp(&peak(one)));
    lines.truncate(MOST);
    lines.sort_by(|one, other| one.name.cmp(&other.name));
    let legend = LEGEND_LINE * lines.len().div_ceil(2) as f64;
    let plot = Area {
        left: area.left + 54.0,
        top: area.top + 28.0,
        width: area.width - 66.0,
        height: area.height - 50.0 - legend,
    };
    let stacks = if panel.is_stacked { stacked(&lines) } else { Vec::new() };
    let tops = stacks.last().map_or_else(Vec::new, Clone::clone);
    let largest = lines.iter().map(peak).chain(tops).fold(0.0, f64::max).max(1e-9);
    axes(body, plot, &shown(largest, &panel.unit), end, trouble);
    let x = |column: usize| plot.left + plot.width * column as f64 / (COLUMNS - 1) as f64;
    let y = |value: f64| plot.top + plot.height * (1.0 - value.max(0.0) / largest);
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        if panel.is_stacked {
            let floor = number.checked_sub(1).and_then(|below| stacks.get(below));
            let upper = stacks.get(number).into_iter().flatten().enumerate();
            let mut points: Vec<_> = upper.map(|(column, value)| (x(column), y(*value))).collect();
            let below =
                |column: usize| floor.and_then(|floor| floor.get(column)).copied().unwrap_or_default();
            points.extend((0..COLUMNS).rev().map(|column| (x(column), y(below(column)))));
            let _ = writeln!(body, "<path d=\"{}Z\" fill=\"{colour}\" fill-opacity=\".6\"/>", path(&points));
        } else {
            for part in parts(&line.values) {
                let points: Vec<_> = part.iter().map(|(column, value)| (x(*column), y(*value))).collect();
                let _ = writeln!(
                    body,
                    "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\"/>",
                    path(&points)
                );
            }
        }
    }
    if all > lines.len() {
        let (x, y) = (area.left + area.width - 8.0, area.top + 17.0);
        let _ = writeln!(
            body,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" font-size=\"10\" fill=\"#666\" text-anchor=\"end\">{} of {all} series</text>",
            lines.len()
        );
    }
    legends(body, &lines, area, legend);
}

fn lines(panel: &Panel, end: f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for query in &panel.queries {
        for series in &query.series {
            let mut values = vec![None; COLUMNS];
            for (at, value) in &series.samples {
                let column = (at / end * (COLUMNS - 1) as f64).round().max(0.0) as usize;
                if let Some(place) = values.get_mut(column) {
                    *place = Some(place.map_or(*value, |known: f64| known.max(*value)));
                }
            }
            lines.push(Line { name: query.name(series), values });
        }
    }
    // A series of zeros says nothing in a stack.
    let is_empty = |line: &Line| panel.is_stacked && peak(line) <= 0.0;
    let has_any = lines.iter().any(|line| !is_empty(line));
    lines.retain(|line| !has_any || !is_empty(line));
    lines
}

fn peak(line: &Line) -> f64 {
    line.values.iter().flatten().copied().fold(0.0, f64::max)
}

/// The upper edges: each line on top of the lines before it.
fn stacked(lines: &[Line]) -> Vec<Vec<f64>> {
    let mut edge = vec![0.0; COLUMNS];
    let edges = lines.iter().map(|line| {
        edge.iter_mut().zip(&line.values).for_each(|(edge, value)| *edge += value.unwrap_or_default());
        edge.clone()
    });
    edges.collect()
}

/// The stretches without a gap. One empty column is none: a column may be shorter than the time between two scrapes.
fn parts(values: &[Option<f64>]) -> Vec<Vec<(usize, f64)>> {
    let mut parts: Vec<Vec<(usize, f64)>> = Vec::new();
    for (column, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        match parts.last_mut() {
            Some(part) if part.last().is_some_and(|(last, _)| column - last <= 2) => {
                part.push((column, *value));
            }
            _ => parts.push(vec![(column, *value)]),
        }
    }
    parts
}

fn path(points: &[(f64, f64)]) -> String {
    points.iter().enumerate().fold(String::new(), |mut path, (number, (x, y))| {
        let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
        path
    })
}

fn axes(body: &mut String, plot: Area, largest: &str, end: f64, trouble: f64) {
    let Area { left, top, width, height } = plot;
    let (right, bottom) = (left + width, top + height);
    let at = left + width * trouble / end;
    let _ = writeln!(
        body,
        "<path d=\"M{left:.1} {top:.1}V{bottom:.1}H{right:.1}\" fill=\"none\" stroke=\"#bbb\"/>\n\
         <path d=\"M{at:.1} {top:.1}V{bottom:.1}\" stroke=\"#555\" stroke-dasharray=\"4 3\"/>"
    );
    let mut label = |x: f64, y: f64, anchor: &str, text: &str| {
        let _ = writeln!(
            body,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" font-size=\"10\" fill=\"#666\" text-anchor=\"{anchor}\">{text}</text>"
        );
    };
    label(left - 4.0, top + 8.0, "end", largest);
    label(left - 4.0, bottom, "end", "0");
    label(left, bottom + 12.0, "start", "0 s");
    label(right, bottom + 12.0, "end", &format!("{end:.0} s"));
}

fn legends(body: &mut String, lines: &[Line], area: Area, height: f64) {
    let top = area.top + area.height - height - 4.0;
    // As many letters as fit into half of the width.
    let letters = (area.width / 2.0 / 6.3) as usize;
    for (number, line) in lines.iter().enumerate() {
        let x = area.left + 8.0 + (number % 2) as f64 * area.width / 2.0;
        let y = top + LEGEND_LINE * (number / 2 + 1) as f64 - 2.0;
        let mut name: String = line.name.chars().take(letters.saturating_sub(3)).collect();
        if name.len() < line.name.len() {
            name.push('…');
        }
        let colour = COLOURS[number % COLOURS.len()];
        let _ = writeln!(
            body,
            "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"9\" height=\"3\" fill=\"{colour}\"/>\
             <text x=\"{:.0}\" y=\"{y:.0}\" font-size=\"10\">{}</text>",
            y - 5.0,
            x + 12.0,
            escaped(&name)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_adds_its_lines_and_a_gap_breaks_a_line() {
        let line = |values: &[f64]| {
            let mut all = vec![None; COLUMNS];
            all.iter_mut().zip(values).for_each(|(place, value)| *place = Some(*value));
            Line { name: String::new(), values: all }
        };
        let edges = stacked(&[line(&[1.0, 2.0]), line(&[3.0])]);
        assert_eq!((edges[1][0], edges[1][1], edges[1][2]), (4.0, 2.0, 0.0));
        let broken = [Some(1.0), None, Some(2.0), None, None, Some(3.0)];
        assert_eq!(parts(&broken), [vec![(0, 1.0), (2, 2.0)], vec![(5, 3.0)]]);
    }
}
