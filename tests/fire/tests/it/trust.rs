//! The trust matrix: Go's TLS client and our verifier agree on the bundles and chains of a ring.

mod certificates;
mod go;

use std::time::Duration;

use rustls_pki_types::UnixTime;
use vestibule_pki::verify;

use self::certificates::{Served, forged_by_name, forged_by_path, many_of_one_name, rotated};

const DAY: u64 = 24 * 60 * 60;
const HOUR: u64 = 60 * 60;
/// The creation of the first CA.
const START: u64 = 20_000 * DAY;
/// After the rotation: old CA, new CA and the cross-signed certificate are valid.
const NOW: u64 = START + 20 * DAY + 60;
/// The old CA and the cross-signed certificate have expired.
const LATE: u64 = START + 31 * DAY;
const NAME: &str = "hooks.demo.svc";

/// A case, and the expected words in Go's and our error; `None` if the server is accepted.
struct Cell<'a> {
    what: &'a str,
    bundle: String,
    served: &'a Served,
    name: &'a str,
    at: u64,
    answers: Option<(&'a str, &'a str)>,
}

const UNKNOWN: Option<(&str, &str)> =
    Some(("certificate signed by unknown authority", "signed by no CA of the bundle"));
const NO_PEM: &str = "unable to parse bytes as PEM block";
const EXPIRED: &str = "has expired or is not yet valid";

#[test]
fn go_and_our_verifier_agree_on_every_cell() {
    let Some(go) = go::client_or_skip() else { return };
    let ring = rotated(START);
    let (old, new) = (ring.old.clone(), ring.new.clone());
    let both = format!("{old}{new}");
    let (old_leaf, new_leaf, crossed) = (&ring.old_leaf, &ring.new_leaf, &ring.crossed_leaf);
    let cell = |what, bundle: &str, served, at, answers| Cell {
        what,
        bundle: bundle.to_owned(),
        served,
        name: NAME,
        at,
        answers,
    };
    let (many, many_leaf) = many_of_one_name(100, START, NAME);
    let (constrained, outside) = forged_by_name(START, &[NAME, "hooks.demo.svc.example.com"]);
    let (short, long_chain) = forged_by_path(START, NAME);

    let mut cells = vec![
        // Changing bundle, leaf, bundle in this order is never refused; every other order is.
        cell("old bundle, old leaf", &old, old_leaf, NOW, None),
        cell("old bundle, new leaf", &old, new_leaf, NOW, UNKNOWN),
        cell("old bundle, new leaf and cross", &old, crossed, NOW, None),
        cell("both, old leaf", &both, old_leaf, NOW, None),
        cell("both, new leaf", &both, new_leaf, NOW, None),
        cell("both, new leaf and cross", &both, crossed, NOW, None),
        cell("new bundle, old leaf", &new, old_leaf, NOW, UNKNOWN),
        cell("new bundle, new leaf", &new, new_leaf, NOW, None),
        cell("new bundle, new leaf and cross", &new, crossed, NOW, None),
        // An expired path does not invalidate another path.
        cell("expired cross, old bundle", &old, crossed, LATE, Some((EXPIRED, "expired"))),
        cell("expired cross, both", &both, crossed, LATE, None),
        cell("expired cross, new bundle", &new, crossed, LATE, None),
        // The bundle's form.
        cell(
            "joined without a line break",
            &both.replace("-\n-", "--"),
            crossed,
            NOW,
            Some((NO_PEM, "joined")),
        ),
        cell("only a line break (`Cg==`)", "\n", crossed, NOW, Some((NO_PEM, "no readable certificate"))),
        cell("no PEM at all", "rubbish", crossed, NOW, Some((NO_PEM, "no readable certificate"))),
        cell(
            "empty: the system's roots",
            "",
            crossed,
            NOW,
            Some((UNKNOWN.unwrap().0, "no readable certificate")),
        ),
        cell("a broken block before a good one", &format!("{}{new}", broken(&old)), crossed, NOW, None),
        // The clock of the API server.
        cell("50 minutes behind", &new, new_leaf, NOW - 50 * 60, None),
        cell("2 hours behind", &new, new_leaf, NOW - 2 * HOUR, Some((EXPIRED, "not valid before"))),
        cell("the leaf has ended", &new, new_leaf, START + 38 * DAY + 1, Some((EXPIRED, "expired"))),
        cell("the CA has ended", &old, old_leaf, LATE, Some((EXPIRED, "expired"))),
        // Names and constraints.
        cell("100 CAs of one name", &many, &many_leaf, NOW, None),
        cell(
            "a name outside the constraint",
            &constrained,
            &outside,
            NOW,
            Some(("not permitted by any constraint", "refused")),
        ),
        cell(
            "the old CA allows no CA below it",
            &short,
            &long_chain,
            NOW,
            Some(("too many intermediates", "fewer intermediate")),
        ),
    ];
    let mut other_name = cell("another server's name", &new, new_leaf, NOW, None);
    (other_name.name, other_name.answers) = ("other.demo.svc", Some(("not other.demo.svc", "not valid for")));
    cells.push(other_name);

    let verdicts = go.ask(&cells);
    assert_eq!(verdicts.len(), cells.len());
    let mut wrong = Vec::new();
    for (cell, go) in cells.iter().zip(verdicts) {
        let at = UnixTime::since_unix_epoch(Duration::from_secs(cell.at));
        let ours = verify(&cell.bundle, &cell.served.chain, &[cell.name], at);
        let ours = ours.err().map(|error| error.to_string()).unwrap_or_default();
        let right = match cell.answers {
            None => go.is_empty() && ours.is_empty(),
            Some((theirs, our)) => go.contains(theirs) && ours.contains(our),
        };
        if !right {
            wrong.push(format!("{}: Go says {go:?}, we say {ours:?}", cell.what));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cells:\n{}", wrong.len(), cells.len(), wrong.join("\n"));
}

/// A PEM block with an invalid character in its content.
fn broken(pem: &str) -> String {
    let middle = pem.len() / 2;
    format!("{}\n*\n{}", &pem[..middle], &pem[middle..])
}
