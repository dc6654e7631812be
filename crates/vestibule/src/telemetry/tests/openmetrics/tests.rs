//! Pages that are read, and pages that are refused with their reasons.

use super::*;

#[test]
fn all_kinds_are_read() {
    let text = "\
# HELP a_seconds A \\\"quoted\\\" \\\\ help\\nof two lines.
# TYPE a_seconds histogram
# UNIT a_seconds seconds
a_seconds_sum{hook=\"x\"} 0.5
a_seconds_count{hook=\"x\"} 2
a_seconds_bucket{le=\"0.1\",hook=\"x\"} 1
a_seconds_bucket{le=\"+Inf\",hook=\"x\"} 2
# HELP b Of all.
# TYPE b info
b_info{version=\"0.1 \\\"beta\\\"}\"} 1
# HELP c Below zero.
# TYPE c gauge
c -1.5e3
# HELP d Nothing yet.
# TYPE d counter
# EOF
";
    let read = Exposition::read(text).unwrap();
    assert_eq!(read.families().len(), 4);
    assert_eq!(read.series(), 6);
    assert_eq!(read.value("c", &[]), Some(-1500.0));
    assert_eq!(read.value("b_info", &[("version", "0.1 \"beta\"}")]), Some(1.0));
    assert_eq!(read.family("a_seconds").unwrap().unit.as_deref(), Some("seconds"));
}

#[test]
fn pages_that_break_the_specification_are_refused() {
    let gauge = "# TYPE a gauge\n# HELP a Of.\n";
    let cases = [
        (format!("{gauge}a 1\n"), "EOF"),
        (format!("{gauge}a 1# EOF\n"), "line of its own"),
        (format!("{gauge}\na 1\n# EOF\n"), "value"),
        (format!("{gauge}a  1\n# EOF\n"), "no number"),
        (format!("{gauge}a inf\n# EOF\n"), "no number"),
        (format!("{gauge}a{{b=\"1\"}} 1\na{{b=\"1\"}} 2\n# EOF\n"), "twice"),
        (format!("{gauge}a{{b=\"1\",b=\"2\"}} 1\n# EOF\n"), "twice"),
        (format!("{gauge}a{{b=\"1\"c=\"2\"}} 1\n# EOF\n"), "comma"),
        (format!("{gauge}a{{b-c=\"1\"}} 1\n# EOF\n"), "label"),
        (format!("{gauge}a{{b=\"\\x\"}} 1\n# EOF\n"), "backslash"),
        (format!("{gauge}a{{b=\"1}} 1\n# EOF\n"), "does not end"),
        (format!("{gauge}a_total 1\n# EOF\n"), "no sample of a gauge"),
        (format!("{gauge}a 1\n# UNIT a b\n# EOF\n"), "before its samples"),
        (format!("{gauge}# UNIT a seconds\na 1\n# EOF\n"), "unit"),
        (format!("{gauge}# TYPE b gauge\n# HELP b Of.\n# TYPE a gauge\n# EOF\n"), "second time"),
        ("# TYPE a counter\n# HELP a Of.\na_total -1\n# EOF\n".to_owned(), "no value"),
        ("# TYPE a info\n# HELP a Of.\na_info 2\n# EOF\n".to_owned(), "no value"),
        ("# TYPE a gauge\na 1\n# EOF\n".to_owned(), "no help"),
        ("# HELP a Of.\na 1\n# EOF\n".to_owned(), "no type"),
        ("a 1\n# EOF\n".to_owned(), "without a family"),
        (
            "# TYPE a counter\n# HELP a Of.\n# TYPE a_total gauge\n# HELP a_total Of.\n# EOF\n".to_owned(),
            "a_total is",
        ),
        (
            "# TYPE a histogram\n# HELP a Of.\na_count 1\na_sum 1\na_bucket{le=\"1.0\"} 1\n# EOF\n"
                .to_owned(),
            "+Inf",
        ),
        (
            "# TYPE a histogram\n# HELP a Of.\na_count 1\na_bucket{le=\"+Inf\"} 1\n# EOF\n".to_owned(),
            "no sum",
        ),
    ];
    for (text, why) in cases {
        let refused = Exposition::read(&text).expect_err(&text);
        assert!(refused.contains(why), "{text}: {refused}");
    }
}
