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
