use super::*;

fn titles(text: &str) -> Vec<String> {
    parse("f.yaml", text).unwrap().iter().map(|object| object.title("default")).collect()
}

#[test]
fn documents_and_lists_are_split_into_objects() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n---\napiVersion: v1\nkind: List\nitems:\n\
                - {apiVersion: v1, kind: Pod, metadata: {generateName: b-}}\n- {apiVersion: v1, kind: Service}\n";
    assert_eq!(titles(text), ["Pod shop/a", "Pod default/b-*****", "Service default/(no name)"]);
}

#[test]
fn items_of_a_typed_list_have_the_type_of_the_list() {
    let list =
        "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- {apiVersion: v1, kind: Pod}\n";
    let objects = parse("f.yaml", list).unwrap();
    assert_eq!(objects[0].json, r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#);
    assert_eq!(objects[1].json, r#"{"apiVersion":"v1","kind":"Pod"}"#);
    assert!(parse("f.yaml", "apiVersion: v1\nkind: PodList\nitems: [5]\n").is_err());
}

#[test]
fn an_empty_list_has_no_objects() {
    for items in ["items: []", "items:"] {
        assert_eq!(titles(&format!("apiVersion: v1\nkind: List\n{items}\n")), [""; 0]);
    }
}

#[test]
fn a_document_that_is_no_object_is_reported_with_its_place() {
    let found = parse("f.yaml", "a: 1\n---\napiVersion: v1\nkind: List\nitems:\n- b: 1\n").err().unwrap();
    let found: Vec<_> = found.iter().map(Diagnostic::headline).collect();
    assert!(found[0].starts_with("f.yaml:1:1: error[VST0108]"), "{found:?}");
    assert!(found[1].starts_with("f.yaml:6:3: error[VST0108]"), "{found:?}");
}

#[test]
fn plain_scalars_are_read_as_kubectl_reads_them() {
    let pod =
        "apiVersion: v1\nkind: Pod\nspec: {hostNetwork: yes, shareProcessNamespace: off, subdomain: 'on'}\n";
    let json = &parse("f.yaml", pod).unwrap()[0].json;
    assert!(
        json.ends_with(r#""spec":{"hostNetwork":true,"shareProcessNamespace":false,"subdomain":"on"}}"#),
        "{json}"
    );
}

#[test]
fn an_object_has_its_file_and_line() {
    assert_eq!(parse("f.yaml", "\n\napiVersion: v1\nkind: Pod\n").unwrap()[0].place(), "f.yaml:3");
}

#[test]
fn a_name_in_the_file_is_given_whatever_its_characters() {
    for (metadata, name, given) in [
        ("name: web", "web", "web"),
        ("name: 'web*'", "web*", "web*"),
        ("generateName: web-", "web-*****", ""),
        ("labels: {}", "(no name)", ""),
    ] {
        let pod = format!("apiVersion: v1\nkind: Pod\nmetadata: {{{metadata}}}\n");
        let object = parse("f.yaml", &pod).unwrap().remove(0);
        assert_eq!((&*object.name, &*object.given_name), (name, given), "{metadata}");
    }
}
