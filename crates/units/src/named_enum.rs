//! Enums whose values have names.

/// Defines an enum whose values have names: `Value = "name"`, and `name()`. With `ALL` behind its
/// name it also has the list of its values, in their order, and `named()`.
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* $vis:vis enum $type:ident {
        $($(#[$doc:meta])* $value:ident = $name:literal,)+
    }) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$doc])* $value,)+
        }

        impl $type {
            /// Returns the name.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $type:ident ALL {
        $($(#[$doc:meta])* $value:ident = $name:literal,)+
    }) => {
        $crate::named_enum! {
            $(#[$meta])*
            $vis enum $type {
                $($(#[$doc])* $value = $name,)+
            }
        }

        impl $type {
            /// All values, in their order.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the value of that name.
            $vis fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    named_enum! {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum Side ALL {
            /// Documentation and attributes stay with their value.
            Near = "near",
            FarAway = "far-away",
        }
    }

    #[test]
    fn values_are_found_by_their_names() {
        assert_eq!(Side::ALL, [Side::Near, Side::FarAway]);
        assert_eq!(Side::ALL.map(Side::name), ["near", "far-away"]);
        assert_eq!(Side::named("far-away"), Some(Side::FarAway));
        assert_eq!(Side::named("FarAway"), None);
    }
}
