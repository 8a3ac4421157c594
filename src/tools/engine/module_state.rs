//! What single tool modules keep for a session, without the engine knowing them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One value of each type that a module asked for, made when it is first asked for.
#[derive(Default)]
pub struct ModuleState(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl ModuleState {
    /// The session's `T`. A module declares a type of its own for this; shared changes need a lock inside it.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        // The key is the value's type: the default stands for what cannot be.
        Arc::clone(value).downcast().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Calls(AtomicU32);

    #[derive(Default)]
    struct Pages(AtomicU32);

    #[test]
    fn each_type_has_one_value_in_a_session() {
        let state = ModuleState::default();
        state.get::<Calls>().0.fetch_add(1, Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| state.get::<Calls>().0.fetch_add(1, Ordering::SeqCst));
            }
        });
        assert_eq!(state.get::<Calls>().0.load(Ordering::SeqCst), 5);
        assert_eq!(state.get::<Pages>().0.load(Ordering::SeqCst), 0);
        let other = ModuleState::default();
        assert_eq!(other.get::<Calls>().0.load(Ordering::SeqCst), 0);
    }
}
