//! The picture: cost against the size of the Pod, both by powers of ten, as SVG.

use std::fmt::Write;

use crate::figure::{CPU, Row};

/// The servers of the picture with their colours, which people with any colour vision can tell apart.
const LINES: [(&str, &str); 6] = [
    ("floor", "#666666"),
    ("injector", "#0072b2"),
    ("typed", "#56b4e9"),
    ("kube-rs", "#e69f00"),
    ("knative", "#cc79a7"),
    ("controller-runtime", "#d55e00"),
];
/// The cases of S1 and the sizes of their reviews in bytes.
pub(super) const SIZES: [(&str, f64); 3] = [
    ("Pod 8 KB, 16 connections", 8e3),
    ("Pod 92 KB, 16 connections", 92e3),
    ("Pod 1.4 MB, 4 connections", 1.4e6),
];

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// The area of the lines: left, right, top, bottom.
const AREA: (f64, f64, f64, f64) = (80.0, 580.0, 40.0, 380.0);
/// Sizes and costs at the edges, as powers of ten: bytes and microseconds.
const FROM_TO: ((f64, f64), (f64, f64)) = ((3.7, 6.4), (0.7, 5.7));

/// The picture of the rows of S1.
pub(crate) fn of(rows: &[Row]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\" \
         role=\"img\" aria-label=\"Processor time of a call against the size of the Pod\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"80\" y=\"22\" font-size=\"15\">Processor time of one call against the size of the Pod</text>\n"
    );
    axes(&mut svg);
    let mut names = Vec::new();
    for (server, colour) in LINES {
        let points: Vec<_> =
            SIZES.iter().filter_map(|(case, size)| Some((*size, cost(rows, case, server)?))).collect();
        let Some((_, end)) = points.last().map(|(size, cost)| place(*size, *cost)) else { continue };
        let path: Vec<_> = points.iter().map(|(size, cost)| place(*size, *cost)).collect();
        let text: Vec<_> = path.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\"/>",
            text.join(" ")
        );
        for (x, y) in path {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>");
        }
        names.push((end, server, colour));
    }
    label(&mut svg, names);
    svg + "</svg>\n"
}

fn cost(rows: &[Row], case: &str, server: &str) -> Option<f64> {
    let row = rows.iter().find(|row| row.scenario == "S1" && row.case == case && row.server == server)?;
    Some(row.figure(CPU)?.median())
}

/// The point of a size in bytes and a cost in microseconds.
fn place(size: f64, cost: f64) -> (f64, f64) {
    let ((left, right, top, bottom), (sizes, costs)) = (AREA, FROM_TO);
    let share = |value: f64, (from, to): (f64, f64)| (value.log10() - from) / (to - from);
    (left + share(size, sizes) * (right - left), bottom - share(cost, costs) * (bottom - top))
}

fn axes(svg: &mut String) {
    let (left, right, top, bottom) = AREA;
    for (cost, text) in [(10.0, "10 µs"), (100.0, "100 µs"), (1e3, "1 ms"), (1e4, "10 ms"), (1e5, "100 ms")]
    {
        let (_, y) = place(1e4, cost);
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            left - 8.0,
            y + 4.0
        );
    }
    for (size, text) in [(8e3, "8 KB"), (92e3, "92 KB"), (1.4e6, "1.4 MB")] {
        let (x, _) = place(size, 10.0);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#dddddd\"/>\n\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            bottom + 18.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">size of the AdmissionReview</text>",
        f64::midpoint(left, right),
        bottom + 42.0
    );
}

/// The names at the ends of their lines, at least one line of text apart.
fn label(svg: &mut String, mut names: Vec<(f64, &str, &str)>) {
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut lowest = f64::NEG_INFINITY;
    for (end, server, colour) in names {
        let y = end.max(lowest + 16.0);
        lowest = y;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\">{server}</text>",
            AREA.1 + 6.0,
            y + 4.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_not_measured_has_no_line() {
        let mut rows = Vec::new();
        for ((case, _), cost) in SIZES.iter().zip([10.0, 30.0, 400.0]) {
            let mut row = Row::new("S1", case, "floor");
            row.add(CPU, cost);
            rows.push(row);
        }
        let svg = of(&rows);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (1, 3));
        assert!(svg.contains(">floor</text>") && !svg.contains("knative"));
    }

    #[test]
    fn larger_and_dearer_is_right_and_up() {
        let ((x, y), (right, up)) = (place(8e3, 10.0), place(92e3, 1e3));
        assert!(right > x && up < y);
        let (left, edge, top, bottom) = AREA;
        for (x, y) in [place(8e3, 8.0), place(1.4e6, 2e5)] {
            assert!((left..edge).contains(&x) && (top..bottom).contains(&y), "{x} {y}");
        }
    }
}
