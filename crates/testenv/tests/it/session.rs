//! The reports of tests, checked by running one test of this binary in a role.

use std::process::{Command, Output};

use vestibule_testenv::{leave_out, leave_out_part, shared_or_skip};

/// Names the role of the test in the child process.
const ROLE: &str = "TESTENV_ROLE";

#[tokio::test]
async fn a_test_reports_whether_it_ran() {
    match std::env::var(ROLE).as_deref() {
        Ok("to fail") => {
            let _env = shared_or_skip().await;
            panic!("as it should");
        }
        Ok("to be left out") => leave_out("there is no curl"),
        Ok("to be shortened") => leave_out_part("there is\nno promtool"),
        Ok(_) => drop(shared_or_skip().await),
        Err(_) => expect_a_report_of_each_role().await,
    }
}

async fn expect_a_report_of_each_role() {
    const NAME: &str = "session::a_test_reports_whether_it_ran";
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let play = |part: &str, variables: &[(&str, &str)]| -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME]).env("VESTIBULE_TEST_REPORT", &report).env(ROLE, part);
        command.env_remove("VESTIBULE_REQUIRE_APISERVER").envs(variables.iter().copied()).output().unwrap()
    };
    let nothing = folder.path().join("nothing").display().to_string();
    let nowhere = [("VESTIBULE_CACHE", nothing.as_str()), ("PATH", ""), ("KUBEBUILDER_ASSETS", "")];

    let skipped = play("to be skipped", &nowhere);
    assert!(skipped.status.success());
    let said = String::from_utf8_lossy(&skipped.stderr).into_owned();
    let reason =
        format!("{nothing} holds no kube-apiserver and etcd, and there is no `go` in PATH to build them");
    assert!(said.contains(&format!("testenv: skipped: {NAME}: {reason}")), "{said}");
    let reported = std::fs::read_to_string(&report).unwrap();
    assert!(reported.starts_with(&format!("skipped {NAME} {reason}")), "{reported}");
    assert!(reported.ends_with("; or let KUBEBUILDER_ASSETS name a folder that has them\n"), "{reported}");
    assert_eq!(reported.lines().count(), 1);

    for (part, said, reported) in [
        ("to be left out", "left out", "left-out NAME there is no curl\n"),
        ("to be shortened", "left out in part", "shortened NAME there is no promtool\n"),
    ] {
        std::fs::write(&report, "").unwrap();
        let left_out = play(part, &[("VESTIBULE_REQUIRE_APISERVER", "1")]);
        assert!(left_out.status.success());
        let stderr = String::from_utf8_lossy(&left_out.stderr).into_owned();
        assert!(stderr.contains(&format!("testenv: {said}: {NAME}: there is")), "{stderr}");
        assert_eq!(std::fs::read_to_string(&report).unwrap(), reported.replace("NAME", NAME));
    }

    let required = [nowhere.as_slice(), &[("VESTIBULE_REQUIRE_APISERVER", "1")]].concat();
    let refused = play("to be required", &required);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stdout).contains("there is no `go` in PATH"));

    if shared_or_skip().await.is_some() {
        let failed = play("to fail", &[]);
        let said = String::from_utf8_lossy(&failed.stdout).into_owned();
        assert!(
            said.contains("as it should") && said.contains("kube-apiserver since this test began"),
            "{said}"
        );
        let reported = std::fs::read_to_string(&report).unwrap();
        assert!(reported.ends_with(&format!("ran {NAME}\n")), "{reported}");
    }
}
