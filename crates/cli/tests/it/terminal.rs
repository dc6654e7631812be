//! Names with control characters, as a terminal and as a script see them.

use serde_json::{Value, json};
use vestibule_command::{colour, diff};
use vestibule_rules::diagnostic::printable;

use crate::fixture::{Folder, TARGET};

/// A name that a file system allows.
const FILE: &str = "a\u{1b}[31m\u{9b}2J\u{202e}\u{200e}\u{200f}\u{61c}\u{2028}\nforged.yaml";

/// A case with a result and rules in files of such names.
fn good_case(object: &str) -> String {
    let object: Value = serde_json::from_str(object).unwrap();
    let result = FILE.replace("forged", "forged-result");
    let case = json!({
        "rules": "../rules",
        "cases": [{"name": "one", "object": object, "expect": {"rules": {"target": "applied"}, "result": result}}],
    });
    // YAML allows some of these characters only as escapes.
    let escaped = |character: char| match character {
        ' '..='~' => character.to_string(),
        _ => format!("\\u{:04x}", u32::from(character)),
    };
    case.to_string().chars().map(escaped).collect()
}

/// No text of a file moves the cursor or forges a line of output.
#[test]
fn a13_no_name_moves_a_cursor_or_forges_a_line() {
    const ODD: &str = r"a\u001b[31m\u0007\u009b2J\u202e\u200e\u200f\u061c\u2028\nforged: line";
    let pod = |labels: &str| {
        format!(
            r#""metadata":{{"name":"{ODD}","namespace":"{ODD}","labels":{{{labels},"inject.vestibule.dev/{ODD}":"true"}}}},
            "spec":{{"containers":[{{"name":"{ODD}","image":"{ODD}"}}],"volumes":[{{"name":"{ODD}","emptyDir":{{}}}}]}}"#
        )
    };
    let asking = r#""app":"web","inject.vestibule.dev/target":"\u001b[31m\nforged""#;
    let objects = [
        format!(r#"{{"apiVersion":"v1","kind":"Pod",{}}}"#, pod(r#""app":"web""#)),
        format!(r#"{{"apiVersion":"v1","kind":"Pod",{}}}"#, pod(asking)),
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{ODD}"}},"spec":{{"template":{{{}}}}}}}"#,
            pod(r#""app":"web""#)
        ),
        format!(r#"{{"apiVersion":"v1","kind":"{ODD}","metadata":{{"name":"{ODD}"}}}}"#),
    ];
    for object in &objects {
        let cases = format!(
            r#"{{"rules":"rules.yaml","cases":[{{"name":"{ODD}","object":{object},"expect":{{"rules":{{"{ODD}":"applied"}},"warnings":["{ODD}"],"contains":{{"{ODD}":1}}}}}}]}}"#
        );
        let wrong = format!(
            r#"{{"apiVersion":"vestibule.dev/v1alpha1","kind":"{ODD}","metadata":{{"name":"{ODD}"}}}}"#
        );
        let folder = Folder::with(&[("rules.yaml", TARGET), ("object.json", object), ("cases.json", &cases)]);
        for (name, text) in
            [("objects", &**object), ("broken", &wrong), ("rules", TARGET), ("good", &good_case(object))]
        {
            folder.write(&format!("{name}/{FILE}"), text);
        }
        folder.write(&format!("no/{FILE}"), [0xff]);
        for command in [
            "explain -f object.json --rules rules.yaml",
            "try object.json --rules rules.yaml",
            "inject -f object.json --rules rules.yaml",
            "test cases.json",
            "explain -f objects --rules rules.yaml",
            "try objects --rules rules.yaml",
            "inject -f objects --rules rules.yaml",
            "inject -f no --rules rules.yaml",
            "lint broken",
            "lint no",
            "test broken",
            "explain -f object.json --rules rules",
            "try object.json --rules rules",
            "try object.json --rules no",
            "lint rules",
            "test good",
            "test good --update",
            "test good",
            "manifests --check objects --rules rules.yaml --namespace shop --image i",
            "manifests --check no --rules rules.yaml --namespace shop --image i",
        ] {
            let done = folder.run(command);
            let said = done.out + &done.err;
            let turns = |character| matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let moves = |character: char| turns(character) || character.is_control() && character != '\n';
            assert!(!said.contains(moves), "{command}: {said:?}");
            assert!(!said.lines().any(|line| line.trim_start().starts_with("forged")), "{command}: {said}");
        }
    }
}

/// Scripts open files by these names, so JSON output holds them unchanged.
#[test]
fn json_output_keeps_file_names_unescaped() {
    let object = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"web"}},"spec":{"containers":[{"name":"app"}]}}"#;
    let folder = Folder::with(&[("object.json", object)]);
    let unused =
        TARGET.replace("spec:\n", "spec:\n  parameters: [{name: unused, type: string, default: a}]\n");
    for (name, text) in [("rules", &*unused), ("good", &good_case(object))] {
        folder.write(&format!("{name}/{FILE}"), text);
    }
    let read = |command: &str| serde_json::from_str::<Value>(&folder.run(command).out).unwrap();
    let rules = format!("rules/{FILE}");
    assert_eq!(read("explain -f object.json --rules rules -o json")[0]["rules"][0]["source"], *rules);
    assert_eq!(read("lint rules -o json")[0]["source"], *rules);
    assert_eq!(read("test good -o json")[0]["file"], format!("good/{FILE}"));
    assert_eq!(read("test good --update -o json")[0]["ok"], true);
    assert!(folder.path().join("good").join(FILE.replace("forged", "forged-result")).is_file());
}

/// Both functions that escape names know the same control characters.
#[test]
fn control_characters_are_the_same_in_every_crate() {
    let all = ('\0'..='\u{2ffff}').chain('\u{e0000}'..='\u{e0fff}').filter(|character| *character != '\n');
    let text: String = all.clone().map(|character| format!("x{character}x\n")).collect();
    let shown = diff::unified("", &text, colour::When::Never.palette());
    let mut lines = shown.lines().skip(1);
    for character in all {
        let line = lines.next().unwrap();
        let moves = character != '\u{fffd}' && line == "+x\u{fffd}x";
        let is_blanked = printable(&character.to_string()) != character.to_string();
        assert_eq!(moves, is_blanked, "{character:?}: {line:?}");
    }
    for mark in ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202e}', '\u{2069}', '\u{2028}', '\u{1b}', '\u{9b}'] {
        assert_eq!(printable(&format!("a{mark}b")), "a b", "{mark:?}");
    }
}
