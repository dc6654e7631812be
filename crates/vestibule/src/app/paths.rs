//! Other paths for hooks, given by `--path`.

use super::App;
use crate::registration::name::is_path;

impl App {
    /// Serves the hook at `path` instead of the path in the code.
    ///
    /// # Errors
    /// There is no such hook, or the API server would refuse the path.
    pub fn at_path(mut self, hook: &str, path: &str) -> Result<Self, String> {
        if !is_path(path) {
            return Err(format!(
                "`--path {hook}={path}`: write `/` and lower-case letters, digits and `-`, as in `{hook}=/mutate`"
            ));
        }
        let names: Vec<_> = self.hooks.iter().map(|registered| registered.entry.name.clone()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let registered = self.hooks.iter_mut().find(|registered| registered.entry.name == hook);
        let registered = registered
            .ok_or_else(|| format!("`--path {hook}={path}`: there is no hook `{hook}`; there are {names}"))?;
        path.clone_into(&mut registered.entry.path);
        Ok(self)
    }
}
