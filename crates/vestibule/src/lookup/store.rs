//! Objects of one type by namespace and name, and by index.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::api::ObjectMeta;
use tokio::sync::watch;

use super::looked_up::LookedUp;

/// The keys of an object in an index.
pub(super) type IndexKeys<T> = Arc<dyn Fn(&T) -> Vec<String> + Send + Sync>;

/// Written by one watch and read by every request.
pub(super) struct Store<T> {
    indices: BTreeMap<String, IndexKeys<T>>,
    changes: watch::Sender<()>,
    state: RwLock<State<T>>,
}

struct State<T> {
    synced: bool,
    /// Why the first list is not read yet, or why the watch has ended.
    trouble: Option<String>,
    objects: IndexedObjects<T>,
    /// The objects of a list that is still being read.
    listed: IndexedObjects<T>,
}

/// Objects in the order of namespaces and names. The maps are nested so that a lookup needs no owned key.
struct IndexedObjects<T> {
    /// By namespace and by name.
    by_name: BTreeMap<String, BTreeMap<String, StoredObject<T>>>,
    /// By index and by a key in it.
    by_index: BTreeMap<String, BTreeMap<String, BTreeMap<ObjectKey, Arc<T>>>>,
}

struct StoredObject<T> {
    object: Arc<T>,
    keys: Vec<IndexKey>,
}

/// The namespace, empty for cluster-scoped kinds, and the name.
pub(super) type ObjectKey = (String, String);
/// The index and a key in it.
type IndexKey = (String, String);

impl<T: LookedUp> Store<T> {
    pub(super) fn new(indices: BTreeMap<String, IndexKeys<T>>) -> Self {
        let state = State {
            synced: false,
            trouble: None,
            objects: IndexedObjects::default(),
            listed: IndexedObjects::default(),
        };
        Self { indices, changes: watch::Sender::new(()), state: RwLock::new(state) }
    }

    /// Why the store cannot be used; the reason may be empty. [`None`] once the first list was read.
    pub(super) fn missing(&self) -> Option<String> {
        let state = self.read();
        (!state.synced).then(|| state.trouble.clone().unwrap_or_default())
    }

    pub(super) fn len(&self) -> usize {
        self.read().objects.by_name.values().map(BTreeMap::len).sum()
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        Some(Arc::clone(&self.read().objects.by_name.get(namespace)?.get(name)?.object))
    }

    /// The objects of one namespace, or of all.
    pub(super) fn list(&self, namespace: Option<&str>) -> Vec<Arc<T>> {
        let state = self.read();
        let by_name = &state.objects.by_name;
        let object = |stored: &StoredObject<T>| Arc::clone(&stored.object);
        match namespace {
            Some(namespace) => {
                by_name.get(namespace).into_iter().flat_map(BTreeMap::values).map(object).collect()
            }
            None => by_name.values().flat_map(BTreeMap::values).map(object).collect(),
        }
    }

    /// [`None`] if there is no such index.
    pub(super) fn by_index(&self, index: &str, key: &str, namespace: Option<&str>) -> Option<Vec<Arc<T>>> {
        self.indices.get(index)?;
        let state = self.read();
        let found = state.objects.by_index.get(index).and_then(|keys| keys.get(key));
        let here = |((place, _), object): (&ObjectKey, &Arc<T>)| {
            namespace.is_none_or(|namespace| namespace == place).then(|| Arc::clone(object))
        };
        Some(found.into_iter().flatten().filter_map(here).collect())
    }

    /// Receives a message after each change of the objects.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn put(&self, object: Arc<T>) {
        let keys = self.keys(&object);
        self.write().objects.put(object, keys);
        self.changes.send_replace(());
    }

    pub(super) fn remove(&self, object: &ObjectMeta) {
        self.write().objects.remove(&key(object));
        self.changes.send_replace(());
    }

    /// Starts a list. The previous objects stay until it is complete.
    pub(super) fn begin_list(&self) {
        self.write().listed = IndexedObjects::default();
    }

    pub(super) fn listed(&self, object: Arc<T>) {
        let keys = self.keys(&object);
        self.write().listed.put(object, keys);
    }

    /// Completes a list: objects that are not in it are removed.
    pub(super) fn end_list(&self) {
        let gone = {
            let mut state = self.write();
            (state.synced, state.trouble) = (true, None);
            let listed = std::mem::take(&mut state.listed);
            std::mem::replace(&mut state.objects, listed)
        };
        // Dropped outside the lock: readers need not wait for it.
        drop(gone);
        self.changes.send_replace(());
    }

    /// Stores why the first list is not read yet.
    pub(super) fn set_trouble(&self, words: &str) {
        self.write().trouble = Some(words.to_owned());
    }

    /// Marks the store as unusable: its watch has ended.
    pub(super) fn abandon(&self, why: &str) {
        let mut state = self.write();
        (state.synced, state.trouble) = (false, Some(why.to_owned()));
    }

    /// Called without the lock: the functions are the author's, and may block or panic.
    fn keys(&self, object: &T) -> Vec<IndexKey> {
        let keys = |(index, keys): (&String, &IndexKeys<T>)| {
            keys(object).into_iter().map(|key| (index.clone(), key)).collect::<Vec<_>>()
        };
        self.indices.iter().flat_map(keys).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, State<T>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<T>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: LookedUp> IndexedObjects<T> {
    fn put(&mut self, object: Arc<T>, keys: Vec<IndexKey>) {
        let of_object = key(object.meta());
        self.remove(&of_object);
        for (index, key) in &keys {
            let index = self.by_index.entry(index.clone()).or_default();
            index.entry(key.clone()).or_default().insert(of_object.clone(), Arc::clone(&object));
        }
        let (namespace, name) = of_object;
        self.by_name.entry(namespace).or_default().insert(name, StoredObject { object, keys });
    }

    fn remove(&mut self, of_object: &ObjectKey) {
        let (namespace, name) = of_object;
        let Some(stored) = remove(&mut self.by_name, namespace, name) else { return };
        for (index, key) in &stored.keys {
            if let Some(index) = self.by_index.get_mut(index) {
                remove(index, key, of_object);
            }
        }
    }
}

/// Removes the value of `key` in the map `of_map`, and the map if it is empty then.
fn remove<K: Ord, V>(maps: &mut BTreeMap<String, BTreeMap<K, V>>, of_map: &str, key: &K) -> Option<V> {
    let map = maps.get_mut(of_map)?;
    let removed = map.remove(key);
    if map.is_empty() {
        maps.remove(of_map);
    }
    removed
}

fn key(object: &ObjectMeta) -> ObjectKey {
    (object.namespace.clone().unwrap_or_default(), object.name.clone().unwrap_or_default())
}

impl<T> Default for IndexedObjects<T> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), by_index: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn config_map(name: &str) -> Arc<ConfigMap> {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Arc::new(ConfigMap { metadata, ..ConfigMap::default() })
    }

    #[test]
    fn an_incomplete_list_removes_no_object_and_is_no_change() {
        let store = Store::new(BTreeMap::new());
        let mut changes = store.changes();
        store.begin_list();
        store.listed(config_map("a"));
        assert_eq!((store.missing().is_some(), store.len()), (true, 0));
        store.end_list();
        store.put(config_map("b"));
        assert_eq!((store.missing(), store.len()), (None, 2));
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        // The watch ends, and the objects are listed again.
        store.begin_list();
        store.listed(config_map("b"));
        assert_eq!((store.len(), changes.has_changed().unwrap()), (2, false));
        store.end_list();
        assert_eq!((store.len(), changes.has_changed().unwrap()), (1, true));
    }
}
