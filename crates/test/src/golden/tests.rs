use k8s_openapi::api::core::v1::ConfigMap;
use tempfile::TempDir;

use super::*;
use vestibule::Operation::Create;
use vestibule::{Context, FailurePolicy, Reject, deny, on};

const GIVEN: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {colour: red}}";

async fn paint(mut map: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
    match context.user().username.as_str() {
        "mallory" => return Err(deny("not you").field("metadata.name", "is yours")),
        "again" => {
            let coats = map.data.get_or_insert_default().entry("coats".to_owned()).or_default();
            coats.push('x');
        }
        _ => context.warn("wet paint"),
    }
    map.data.get_or_insert_default().insert("colour".to_owned(), "blue".to_owned());
    Ok(map)
}

fn app() -> App {
    App::new("painter").mutate(
        "paint",
        on::<ConfigMap>([Create]).failure_policy(FailurePolicy::Ignore),
        paint,
    )
}

/// A folder with one case.
fn case(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        fs::write(folder.path().join(file), text).unwrap();
    }
    folder
}

async fn outcome(case: &TempDir, update: bool) -> Result<(), String> {
    run(&app(), "paint", case.path(), update).await
}

#[tokio::test]
async fn written_files_pass_and_keep_their_comments() {
    let case = case(&[("given.yaml", GIVEN), ("denied.txt", "of yesterday\n")]);
    let file = |name: &str| fs::read_to_string(case.path().join(name)).unwrap();
    assert!(outcome(&case, false).await.unwrap_err().contains("there is no expect.yaml"));
    outcome(&case, true).await.unwrap();
    assert!(file("expect.yaml").contains("colour: blue"));
    assert_eq!(file("warnings.txt"), "wet paint\n");
    assert!(!case.path().join("denied.txt").exists());
    outcome(&case, false).await.unwrap();

    // Comments survive an update that finds nothing new.
    let commented = format!("# as painted\n{}", file("expect.yaml"));
    fs::write(case.path().join("expect.yaml"), &commented).unwrap();
    outcome(&case, true).await.unwrap();
    assert_eq!(file("expect.yaml"), commented);
}

#[tokio::test]
async fn a_difference_is_shown_by_its_place() {
    let expected =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {colour: green}}";
    let case = case(&[("given.yaml", GIVEN), ("expect.yaml", expected)]);
    let why = outcome(&case, false).await.unwrap_err();
    let lines: Vec<_> = why.lines().skip(1).map(str::trim).collect();
    assert_eq!(lines, ["- data.colour: \"green\"", "+ data.colour: \"blue\"", "+ warnings.txt: wet paint"]);
}

#[tokio::test]
async fn a_denial_is_words_and_fields() {
    let case = case(&[("given.yaml", GIVEN), ("request.yaml", "user: mallory")]);
    outcome(&case, true).await.unwrap();
    let text = fs::read_to_string(case.path().join("denied.txt")).unwrap();
    assert_eq!(text, "not you\nmetadata.name: is yours\n");
}

#[tokio::test]
async fn laws_hold_unasked() {
    let again = case(&[("given.yaml", GIVEN), ("request.yaml", "user: again")]);
    assert!(outcome(&again, true).await.unwrap_err().contains("a second call changes it again"));
    assert!(outcome(&again, false).await.unwrap_err().contains("+ data.coats: \"xx\""));
}

#[tokio::test]
async fn a_misspelt_fact_is_reported() {
    let case = case(&[("given.yaml", GIVEN), ("request.yaml", "usr: alice")]);
    assert!(outcome(&case, true).await.unwrap_err().contains("request.yaml: "));
    let none = tempfile::tempdir().unwrap();
    assert!(outcome(&none, true).await.unwrap_err().contains("no given.yaml"));
}

#[tokio::test]
async fn a_file_that_is_not_read_is_reported() {
    let misspelt = case(&[("given.yaml", GIVEN), ("request.yml", "user: mallory"), ("README.md", "why")]);
    assert!(
        outcome(&misspelt, true)
            .await
            .unwrap_err()
            .starts_with("request.yml is no file of a case; the files are ")
    );
}

#[tokio::test]
#[should_panic(expected = "hook: it holds no case")]
async fn a_hook_without_a_case_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("paint/a")).unwrap();
    fs::create_dir_all(folder.path().join("hook")).unwrap();
    golden(&app(), folder.path()).await;
}

#[tokio::test]
#[should_panic(expected = "holds no case")]
async fn a_folder_without_a_case_is_no_success() {
    golden(&app(), tempfile::tempdir().unwrap().path()).await;
}
