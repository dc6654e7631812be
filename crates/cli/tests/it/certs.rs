//! `vestibule certs new` and `certs check`.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tokio::net::TcpSocket;

use crate::fixture::{Folder, TARGET, finish};
use crate::served::Server;

#[test]
fn a_server_presents_the_certificate_of_certs_new_and_certs_check_accepts_it() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let made = folder.run("certs new --service hooks --namespace demo --out certs");
    assert_eq!((made.code(), made.out.as_str()), (0, ""), "{}", made.err);
    for part in
        ["certs/ca.crt", "certs/server.key", "hooks.demo.svc, hooks.demo.svc.cluster.local", "serve ... "]
    {
        made.tells(part);
    }
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("certs"), mode("certs/server.key")), (0o700, 0o600));

    // The injector, with the files of `certs new` in `certs`.
    let server = Server::spawn(&mut folder.command(
        "serve --rules rules.yaml --listen 127.0.0.1:0 --metrics-listen off --service demo/hooks \
         --identity mounted:certs --mounted-certificate server.crt --mounted-key server.key",
    ));
    let address = server.address("address");
    let check = |ca: &str, name: &str| folder.run(&format!("certs check {address} --ca {ca} --dns {name}"));
    check("certs/ca.crt", "hooks.demo.svc")
        .exits(0)
        .shows("accepted: kube-apiserver would accept it\n")
        .shows("ECDSA P-256")
        .shows("364 d left");

    let valid_for = "hooks.demo.svc, hooks.demo.svc.cluster.local, not other.demo.svc\n";
    check("certs/ca.crt", "other.demo.svc")
        .exits(1)
        .shows("the Service demo/hooks, and the API server calls the Service demo/other")
        .shows(format!("x509: certificate is valid for {valid_for}"));

    folder.run("certs new --dns stranger.example.com --out stranger").stdout();
    check("stranger/ca.crt", "hooks.demo.svc")
        .exits(1)
        .shows("x509: certificate signed by unknown authority\n");
}

#[test]
fn bad_input_exits_with_2_and_an_unreachable_server_with_3() {
    let folder = Folder::with(&[("ca.crt", "")]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    folder
        .run(&format!("certs check 127.0.0.1:{port} --ca ca.crt --dns a.b.svc"))
        .fails(3, "connect: connection refused");
    for arguments in [
        "127.0.0.1:1 --ca missing.crt --dns a.b.svc",
        "127.0.0.1 --ca ca.crt --dns a.b.svc",
        "https://127.0.0.1:1 --ca ca.crt --dns a.b.svc",
        ":1 --ca ca.crt --dns a.b.svc",
        "127.0.0.1:1 --ca ca.crt --dns a_b!",
        "127.0.0.1:1 --ca ca.crt",
        "127.0.0.1:1 --ca ca.crt --dns a --timeout soon",
        "127.0.0.1:1 --ca ca.crt --dns a --timeout 0s",
    ] {
        assert_eq!(folder.run(&format!("certs check {arguments}")).code(), 2, "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_not_waited_for() {
    let folder = Folder::with(&[("ca.crt", "")]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let check = |address: SocketAddr| {
        folder.run(&format!("certs check {address} --ca ca.crt --dns a.b.svc --timeout 1s"))
    };
    check(silent.local_addr().unwrap())
        .exits(1)
        .shows("accepted the connection and sent nothing")
        .shows("net/http: TLS handshake timeout");

    // With a full queue the first packet of a connection is lost, as behind a firewall.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let wait = Duration::from_millis(200);
    let _waiting: Vec<_> =
        std::iter::from_fn(|| TcpStream::connect_timeout(&address, wait).ok()).take(64).collect();
    check(address).fails(3, "i/o timeout");
}

#[test]
fn new_says_what_it_needs_and_overwrites_nothing() {
    let folder = Folder::with(&[]);
    for (arguments, word) in [
        ("--out certs", "--service"),
        ("--service hooks --out certs", "--namespace"),
        ("--service hooks --namespace demo", "--out"),
        ("--dns a.b -o patch", "--out"),
        ("--dns a.b --out certs -o patch", "--registration"),
        ("--dns a_b! --out certs", "neither an IP address nor a DNS name"),
        ("--dns a.b --out certs --days 0", "--days"),
        ("--service demo/Bad_Name --out certs", "`Bad_Name` cannot be an object's name"),
        ("--dns a.b --out certs -o secret --secret a/b/c", "a/b/c"),
        ("--dns a.b --out certs --secret a/b", "-o secret"),
        ("--dns a.b --out certs --registration mutating/x", "-o patch"),
        ("--dns a.b --out certs --hooks 2", "--registration"),
    ] {
        folder.run(&format!("certs new {arguments}")).fails(2, word);
        assert!(!folder.path().join("certs").exists(), "{arguments}");
    }
    folder.run("certs new --dns a.b --out certs").stdout();
    let before = std::fs::read(folder.path().join("certs/ca.crt")).unwrap();
    folder.run("certs new --dns a.b --out certs").fails(2, "--force");
    assert_eq!(std::fs::read(folder.path().join("certs/ca.crt")).unwrap(), before);
    folder.run("certs new --dns a.b --out certs --force").stdout();
    assert_ne!(std::fs::read(folder.path().join("certs/ca.crt")).unwrap(), before);
}

/// The namespace of this pod was taken.
#[test]
fn a_secret_is_in_the_namespace_of_its_service() {
    let folder = Folder::with(&[]);
    let mut new = folder.command("certs new --service demo/hooks -o secret --secret certificate");
    let printed = finish(new.env("POD_NAMESPACE", "other"), "").objects();
    assert_eq!(printed[0]["metadata"]["namespace"], "demo");
}

#[test]
fn a_patch_puts_the_written_ca_into_every_hook() {
    let folder = Folder::with(&[]);
    let patch = folder
        .run("certs new --dns a.b --out certs -o patch --registration validating/x --hooks 2")
        .exits(0)
        .json();
    let ca = std::fs::read(folder.path().join("certs/ca.crt")).unwrap();
    let operations = patch.as_array().unwrap();
    assert_eq!(operations.len(), 2);
    assert_eq!(operations[1]["path"], "/webhooks/1/clientConfig/caBundle");
    assert_eq!(operations[1]["value"], serde_json::json!(k8s_openapi::ByteString(ca)));
    let done = folder.run("certs new --dns a.b --out other -o patch --registration crd/widgets.example.com");
    done.tells("kubectl patch customresourcedefinition widgets.example.com");
    assert!(done.stdout().contains("/spec/conversion/webhook/clientConfig/caBundle"));
}
