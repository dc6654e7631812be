//! Rows of one case as a table.

use std::fmt::Write;

use crate::figure::{CPU, Figure, RATIO, Row};

/// The table: for the figures that are compared least, median and most of the rounds, else the median.
pub(crate) fn of(rows: &[Row]) -> String {
    let names = names(rows);
    let mut lines = vec![["server"].into_iter().chain(names.iter().copied()).map(str::to_owned).collect()];
    for row in rows {
        let cell = |name: &&str| row.figure(name).map_or_else(|| "-".to_owned(), cell);
        let cells = [row.server.clone()].into_iter().chain(names.iter().map(cell));
        lines.push(cells.chain((!row.notes.is_empty()).then(|| row.notes.join("; "))).collect::<Vec<_>>());
    }
    aligned(&lines, names.len())
}

/// The names of the figures of these rows, each once.
pub(crate) fn names<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<&'r str> {
    let mut names = Vec::new();
    for figure in rows.into_iter().flat_map(|row| &row.figures) {
        if !names.contains(&figure.name.as_str()) {
            names.push(figure.name.as_str());
        }
    }
    names
}

/// The figure as text; of compared figures with their range.
pub(crate) fn cell(figure: &Figure) -> String {
    if figure.name == CPU || figure.name == RATIO {
        let [least, median, most] = [figure.least(), figure.median(), figure.most()].map(number);
        return format!("{least} / {median} / {most}");
    }
    number(figure.median())
}

/// Three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size @ ..10.0 if size > 0.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        1000.0.. => thousands(value),
        _ => format!("{value:.0}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Columns of equal width; notes after the last figure are not padded.
fn aligned(lines: &[Vec<String>], figures: usize) -> String {
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..=figures).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (column, cell) in line.iter().enumerate() {
            let _ = match widths.get(column) {
                Some(width) if column == 0 => write!(text, "{cell:<width$}"),
                Some(width) => write!(text, "  {cell:>width$}"),
                None => write!(text, "  {cell}"),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let texts = [0.0, 0.123, 1.0, 12.34, 123.4, 1234.0, 1_234_567.0].map(number);
        assert_eq!(texts, ["0", "0.12", "1.00", "12.3", "123", "1,234", "1,234,567"]);
    }

    #[test]
    fn columns_are_aligned_and_notes_come_last() {
        let mut floor = Row::new("S1", "case", "floor");
        [1.0, 2.0, 4.0].into_iter().for_each(|value| floor.add(CPU, value));
        let mut slow = Row::new("S1", "case", "slow server");
        slow.note("failed: no answer");
        let table = of(&[floor, slow]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "server                   CPU µs");
        assert_eq!(lines[1], "floor        1.00 / 2.00 / 4.00");
        assert_eq!(lines[2], "slow server                   -  failed: no answer");
    }
}
