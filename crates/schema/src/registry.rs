//! Registries: parts by name, those of this project and those that other crates add.
//!
//! Contract: an append-only list in order of registration, filled before anything runs. It is state
//! of the process; the packet path does not read it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::panic::Location;

use once_cell::race::OnceBox;

use crate::unknown_name::UnknownName;

/// A registered part: it has a name.
pub trait Part: 'static {
    /// Kind of the part, in messages: `congestion control`, `marker`.
    const WHAT: &'static str;

    /// Its name in kebab case, as users write it.
    fn name(&self) -> &'static str;
}

/// All parts of one type, found by name.
pub struct Registry<T: Part> {
    built_in: &'static [&'static T],
    /// The place of the list `built_in`.
    place: &'static Location<'static>,
    added: Added<T>,
}

/// Parts that other crates registered, as a linked list.
struct Added<T: Part>(OnceBox<Node<T>>);

struct Node<T: Part> {
    part: &'static T,
    place: &'static Location<'static>,
    next: Added<T>,
}

impl<T: Part> Added<T> {
    /// Whether a part of that name follows.
    fn has(&self, name: &str) -> bool {
        let mut at = self;
        while let Some(node) = at.0.get() {
            if node.part.name() == name {
                return true;
            }
            at = &node.next;
        }
        false
    }
}

/// Error: a part of that name is registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisteredTwice {
    what: &'static str,
    /// The name.
    pub name: &'static str,
    /// Place of the first registration; of the list, for a part of this project.
    pub first: &'static Location<'static>,
    /// Place of the rejected registration.
    pub second: &'static Location<'static>,
}

impl fmt::Display for RegisteredTwice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, first, second } = self;
        write!(
            f,
            "the {what} `{name}` is registered twice, at {first} and at {second}; give one of \
             them another name"
        )
    }
}

impl core::error::Error for RegisteredTwice {}

impl<T: Part> Registry<T> {
    /// A registry with the parts of this project.
    #[track_caller]
    pub const fn new(built_in: &'static [&'static T]) -> Self {
        Self { built_in, place: Location::caller(), added: Added(OnceBox::new()) }
    }

    /// Registers a part of another crate, for the whole process, before anything else runs. Command
    /// line, scenario files, documentation and errors then know its name.
    ///
    /// # Errors
    /// A part of that name is registered; the error has both places.
    #[track_caller]
    pub fn register(&'static self, part: &'static T) -> Result<(), RegisteredTwice> {
        self.append(part, false)
    }

    /// As [`Self::register`], but a part of that name that another crate registered is replaced:
    /// for interactive programs, between runs. The replaced part stays in memory.
    ///
    /// # Errors
    /// A part of this project has that name.
    #[track_caller]
    pub fn replace(&'static self, part: &'static T) -> Result<(), RegisteredTwice> {
        self.append(part, true)
    }

    #[track_caller]
    fn append(&'static self, part: &'static T, replaces: bool) -> Result<(), RegisteredTwice> {
        let second = Location::caller();
        let twice = |first| RegisteredTwice { what: T::WHAT, name: part.name(), first, second };
        if self.built_in.iter().any(|other| other.name() == part.name()) {
            return Err(twice(self.place));
        }
        let mut at = &self.added;
        loop {
            if let Some(node) = at.0.get() {
                if node.part.name() == part.name() && !replaces {
                    return Err(twice(node.place));
                }
                at = &node.next;
            } else {
                let node = Node { part, place: second, next: Added(OnceBox::new()) };
                if at.0.set(Box::new(node)).is_ok() {
                    return Ok(());
                }
                // Another thread appended first: continue from its part.
            }
        }
    }

    /// Returns all parts: those of this project, then the others in order of registration.
    pub fn all(&'static self) -> impl Iterator<Item = &'static T> {
        let mut at = &self.added;
        let added = core::iter::from_fn(move || {
            loop {
                let node = at.0.get()?;
                at = &node.next;
                if !at.has(node.part.name()) {
                    return Some(node.part);
                }
            }
        });
        self.built_in.iter().copied().chain(added)
    }

    /// Returns the part of that name.
    pub fn find(&'static self, name: &str) -> Option<&'static T> {
        self.all().find(|part| part.name() == name)
    }

    /// As [`Self::find`], with an error that has the nearest names.
    pub fn get(&'static self, name: &str) -> Result<&'static T, UnknownName> {
        self.find(name).ok_or_else(|| {
            let names = self.names().into_iter().map(String::from).collect();
            UnknownName::new(T::WHAT, name, names)
        })
    }

    /// Returns the names of all parts.
    pub fn names(&'static self) -> Vec<&'static str> {
        self.all().map(Part::name).collect()
    }
}

impl<T: Part> fmt::Debug for Registry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry of {}, {}", T::WHAT, self.place)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Marker(&'static str);

    impl Part for Marker {
        const WHAT: &'static str = "marker";

        fn name(&self) -> &'static str {
            self.0
        }
    }

    #[test]
    fn parts_keep_their_order_and_are_found_by_name() {
        static REGISTRY: Registry<Marker> = Registry::new(&[&Marker("step")]);
        REGISTRY.register(&Marker("b")).unwrap();
        REGISTRY.register(&Marker("a")).unwrap();
        assert_eq!(REGISTRY.names(), ["step", "b", "a"]);
        assert_eq!(REGISTRY.find("a"), Some(&Marker("a")));
        assert_eq!(REGISTRY.find("c"), None);
    }

    #[test]
    fn a_second_registration_names_both_places() {
        static REGISTRY: Registry<Marker> = Registry::new(&[&Marker("step")]);
        let list = line!() - 1;
        REGISTRY.register(&Marker("a")).unwrap();
        let first = line!() - 1;
        for (name, place) in [("step", list), ("a", first)] {
            let error = REGISTRY.register(Box::leak(Marker(name).into())).unwrap_err();
            let second = line!() - 1;
            assert_eq!((error.first.line(), error.second.line()), (place, second));
            let file = file!();
            let text = error.to_string();
            assert!(text.contains(&std::format!("`{name}`")), "{text}");
            for line in [place, second] {
                assert!(text.contains(&std::format!("{file}:{line}:")), "{text}");
            }
        }
        assert_eq!(REGISTRY.names(), ["step", "a"]);
    }

    #[test]
    fn a_replaced_part_is_found_no_longer() {
        #[derive(Debug, PartialEq)]
        struct Versioned(&'static str, u8);
        impl Part for Versioned {
            const WHAT: &'static str = "marker";

            fn name(&self) -> &'static str {
                self.0
            }
        }
        static REGISTRY: Registry<Versioned> = Registry::new(&[&Versioned("step", 0)]);
        for part in [&Versioned("a", 1), &Versioned("b", 1), &Versioned("a", 2)] {
            REGISTRY.replace(part).unwrap();
        }
        assert_eq!(REGISTRY.names(), ["step", "b", "a"]);
        assert_eq!(REGISTRY.find("a"), Some(&Versioned("a", 2)));
        assert!(REGISTRY.replace(&Versioned("step", 1)).is_err(), "a part of this project");
        assert!(REGISTRY.register(&Versioned("a", 3)).is_err(), "it is still registered once");
    }

    #[test]
    fn threads_that_register_at_once_lose_nothing() {
        static REGISTRY: Registry<Marker> = Registry::new(&[]);
        static PARTS: [Marker; 4] = [Marker("a"), Marker("b"), Marker("c"), Marker("d")];
        std::thread::scope(|scope| {
            for part in &PARTS {
                scope.spawn(move || REGISTRY.register(part).unwrap());
            }
        });
        let mut names = REGISTRY.names();
        names.sort_unstable();
        assert_eq!(names, PARTS.iter().map(|p| p.0).collect::<Vec<_>>());
    }
}
