//! Rules as Kubernetes objects, on a real API server by the real kubectl.

mod definitions;
mod installed;

use vestibule_testenv::{Environment, Tools};

use crate::fixture::{Done, Folder, finish, with_kubectl};

/// Runs a script with kubectl in `folder`.
fn kubectl(environment: &Environment, tools: &Tools, folder: &Folder, script: &str) -> Done {
    finish(with_kubectl(environment, tools, script).current_dir(folder.path()), "")
}
