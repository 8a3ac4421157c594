//! A tool as a row: its name, parameters, rules and function, and the macro that declares the rows of a module.

use serde_json::{Map, Value};

use super::context::ToolContext;
use super::result::ToolOk;
use super::rules::Rules;
use crate::base::params::Field;
use crate::base::problem::Outcome;

/// One tool.
#[derive(Debug)]
pub struct Tool {
    /// Name that models call.
    pub name: &'static str,
    /// Module of the catalogue; `--tools` takes these.
    pub module: &'static str,
    /// What it does, one sentence.
    pub summary: &'static str,
    /// The same as a JSON string, as requests carry it.
    pub summary_json: &'static str,
    /// Side effect, limits, modes.
    pub rules: Rules,
    /// Makes its parameters, in published order.
    pub fields: fn() -> Vec<Field>,
    /// Their JSON Schema.
    pub schema: &'static str,
    /// Phrases that call it without a model: words, `{parameter}` slots, and at the end fixed values such as `{path=inbox.md}`.
    pub phrases: &'static [&'static str],
    /// Takes arguments that are one text instead of named parameters.
    pub freeform: Option<fn(&ToolContext, &str) -> Outcome<ToolOk>>,
    /// Does the work.
    pub run: fn(&ToolContext, &Map<String, Value>) -> Outcome<ToolOk>,
}

impl Tool {
    /// Its parameters, in published order.
    pub fn fields(&self) -> Vec<Field> {
        (self.fields)()
    }
}

/// Declares a module's tools: `pub const TOOLS`, and a struct of arguments for each. After the module's name stands what holds for all of them, such as
/// `in_children`: a method of [`Rules`].
///
/// ```text
/// tools! { "system";
///     /// Facts about this machine.
///     system_info(SystemInfo; READ.seconds(5)) {} => facts, says ["system info"];
/// }
/// ```
#[macro_export]
macro_rules! tools {
    ($module:literal $(, $for_all:ident)*; $(
        $(#[doc = $about:literal])* $name:ident ( $args:ident ; $rules:expr ) { $($fields:tt)* }
        => $run:path $(, freeform $freeform:path)? $(, says [$($phrase:literal),* $(,)?])? ;
    )*) => {
        $( $crate::params! { #[doc = concat!("Arguments of `", stringify!($name), "`.")] pub struct $args { $($fields)* } } )*

        /// What holds for every tool of this module.
        const fn of_module(rules: $crate::tools::engine::rules::Rules) -> $crate::tools::engine::rules::Rules {
            rules $(.$for_all())*
        }

        /// The tools of this module.
        pub(crate) const TOOLS: &[$crate::tools::Tool] = &[ $( {
            #[allow(unused_mut, unused_assignments)]
            let mut freeform: Option<fn(&$crate::tools::engine::context::ToolContext, &str) -> $crate::base::problem::Outcome<$crate::tools::ToolOk>> = None;
            $( freeform = Some($freeform); )?
            // A doc comment begins with a space.
            const SUMMARY: &str = concat!($($about),*).trim_ascii();
            const SUMMARY_JSON: [u8; $crate::base::params::schema::string_length(SUMMARY)] =
                $crate::base::params::schema::string(SUMMARY);
            $crate::tools::Tool {
                name: stringify!($name),
                module: $module,
                summary: SUMMARY,
                summary_json: $crate::base::params::schema::checked(&SUMMARY_JSON),
                rules: of_module($rules),
                fields: || $args::fields().to_vec(),
                schema: $args::SCHEMA,
                phrases: &[$($($phrase),*)?],
                freeform,
                run: |ctx, args| $run(ctx, $args::decode(stringify!($name), args)?).map(Into::into),
            }
        } ),* ];
    };
}
