//! The JSON Schema of the format agrees with the reader.

use serde_json::Value;
use vestibule_rules::{CODES, RuleSet, yaml};

use crate::kit::{rule, schema};

/// Whether `value` is valid, by the keywords of JSON Schema that our schema uses. Other keywords panic.
fn valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let of_type = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        other => panic!("type {other}"),
    };
    schema.as_object().unwrap().iter().all(|(word, wanted)| match word.as_str() {
        "$ref" => {
            let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
            valid(root, root["$defs"].get(name).unwrap(), value)
        }
        "type" => wanted.as_array().map_or_else(|| of_type(wanted), |types| types.iter().any(of_type)),
        "const" => value == wanted,
        "minimum" => value.as_i64().is_none_or(|number| number >= wanted.as_i64().unwrap()),
        "maximum" => value.as_i64().is_none_or(|number| number <= wanted.as_i64().unwrap()),
        "enum" => wanted.as_array().unwrap().contains(value),
        "anyOf" => wanted.as_array().unwrap().iter().any(|one| valid(root, one, value)),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| valid(root, wanted, item))),
        "required" => {
            let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
            !value.is_object() || wanted.as_array().unwrap().iter().all(has)
        }
        "properties" => {
            let known = wanted.as_object().unwrap();
            known.iter().all(|(name, below)| value.get(name).is_none_or(|found| valid(root, below, found)))
        }
        "additionalProperties" => {
            let known =
                |name: &String| schema.get("properties").is_some_and(|known| known.get(name).is_some());
            let others = value.as_object().into_iter().flatten().filter(|(name, _)| !known(name));
            let mut others = others.peekable();
            match wanted {
                Value::Bool(false) => others.peek().is_none(),
                below => others.all(|(_, found)| valid(root, below, found)),
            }
        }
        "if" => {
            let branch = if valid(root, wanted, value) { "then" } else { "else" };
            valid(root, &schema[branch], value)
        }
        "then" | "else" | "$schema" | "$defs" | "title" | "description" | "default" => true,
        other => panic!("word {other}"),
    })
}

fn all_valid(root: &Value, text: &str) -> bool {
    let documents = yaml::read("text.yaml", text).unwrap();
    documents.iter().all(|document| valid(root, root, &serde_json::from_str(&document.to_json()).unwrap()))
}

fn ours() -> Value {
    serde_json::from_str(&vestibule_rules::schema::json(schema())).unwrap()
}

#[test]
fn documents_that_the_reader_accepts_are_valid() {
    let root = ours();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect();
    assert!(files.len() >= 8);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(all_valid(&root, &text), "{}", path.display());
    }
    // So is every example of a code that is not an error of the format itself.
    let mut count = 0;
    for text in CODES.iter().filter_map(|code| code.example()) {
        if RuleSet::load([("example.yaml", text)], schema()).is_ok_and(|rules| rules.warnings().is_empty()) {
            assert!(all_valid(&root, text), "{text}");
            count += 1;
        }
    }
    assert!(count > 8);
}

#[test]
fn documents_that_the_reader_refuses_for_their_form_are_invalid() {
    const EMPTY: &str = "containerPatches: [{select: {names: LIST}, image: b}]";
    let root = ours();
    for id in ["VST0110", "VST0111", "VST0112", "VST0113", "VST0114", "VST0115", "VST0117", "VST0118"] {
        let code = CODES.iter().find(|code| code.id == id).unwrap();
        assert!(!all_valid(&root, code.example().unwrap()), "{id}");
    }
    let probes = "pod: {labels: {a: b}}\nrewriteProbes: {container: c, env: P, port: PORT}";
    let selector =
        "pod: {labels: {a: {$cel: owner.name}}}\nmatch: {objectSelector: {matchLabels: {a: VALUE}}}";
    for (spec, is_valid) in [
        (probes.replace("PORT", "65535"), true),
        (probes.replace("PORT", "65536"), false),
        (selector.replace("VALUE", "b"), true),
        (selector.replace("VALUE", "{$cel: owner.name}"), false),
        (EMPTY.replace("LIST", "[a]"), true),
        (EMPTY.replace("LIST", "[]"), false),
        ("remove: [{env: {containers: all, name: A}}]".to_owned(), true),
        ("remove: [{env: {containers: [], name: A}}]".to_owned(), false),
    ] {
        let text = rule("r", &spec).replacen("  match: {objectSelector: {matchLabels: {app: web}}}\n", "", 1);
        assert_eq!(all_valid(&root, &text), is_valid, "{text}");
    }
}

#[test]
fn every_field_has_a_description() {
    let root = ours();
    let spec = &root["$defs"]["spec"]["properties"];
    for (name, field) in spec.as_object().unwrap() {
        assert!(field["description"].as_str().is_some_and(|about| about.ends_with('.')), "{name}");
    }
    assert_eq!(spec["optIn"]["default"], "always");
    assert_eq!(spec["targets"]["default"], serde_json::json!(["pods"]));
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages/rules.md");

const HEAD: &str = "# The fields of rules and settings

Every field of `Injection`, `InjectorSettings` and `NamespacedInjection`, made from the definition by which rules are read;
`VESTIBULE_UPDATE_GOLDEN=1 cargo test -p vestibule-rules` writes this page anew. `vestibule explain spec.sidecars.position` prints the same for one field,
and `vestibule schema` for editors. A field of a pod, such as a sidecar's `image`, is what it is in a pod. [When a rule applies](opt-in.md) has the order of the
checks, and [expressions](expressions.md) what CEL reads. `onConflict` has a [default for each kind of part](opt-in.md#if-the-pod-has-another-value).
";

#[test]
fn the_page_of_fields_is_up_to_date() {
    let page = HEAD.to_owned() + &vestibule_rules::reference::page(schema());
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(PAGE).unwrap_or_default(),
        page,
        "docs/reference/rules.md is out of date"
    );
}

/// Every path of the JSON Schema is explained.
#[test]
fn every_field_is_explained() {
    for (path, wanted) in [
        ("spec", "matchConditions\t<[]Object>"),
        (
            "spec.match.namespaceSelector.matchExpressions.operator",
            "ENUM:     In, NotIn, Exists, DoesNotExist",
        ),
        ("Injection.spec.sidecars[0].mode", "DEFAULT:  auto"),
        ("spec.sidecars.image", "kubectl explain pod.spec.containers.image"),
        ("spec.containerPatches.env.onConflict", "ENUM:     keep, override, skipRule, deny"),
        ("injectorsettings.spec.exemptions.users", "FIELD:    users <[]string>"),
        ("spec.mode", "KIND:     InjectorSettings"),
    ] {
        let text = vestibule_rules::reference::explained(path, schema()).unwrap();
        assert!(text.contains(wanted), "{path}: {text}");
    }
    for (path, wanted) in [
        ("spec.match.objects", "there is no field `objects` in `spec.match` of an Injection; objectSelector"),
        (
            "spec.sidecars.imag",
            "there is no field `imag` in `spec.sidecars` of an Injection; did you mean `image`?",
        ),
    ] {
        let why = vestibule_rules::reference::explained(path, schema()).unwrap_err();
        assert!(why.starts_with(wanted), "{why}");
    }
}
