//! A tool as a row: its name, parameters, rules and function, and the macro that declares the rows of a module.

use serde_json::{Map, Value};

use super::context::ToolContext;
use super::result::ToolOk;
use super::rules::Rules;
use crate::base::params::Field;
use crate::base::problem::Outcome;

#[derive(Debug)]
pub struct Tool {
    /// Name that models call.
    pub name: &'static str,
    /// Module of the catalogue; `--tools` takes these names.
    pub module: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The same as a JSON string, as requests contain it.
    pub summary_json: &'static str,
    /// Side effect, limits, modes.
    pub rules: Rules,
    /// Returns its parameters, in published order.
    pub fields: fn() -> Vec<Field>,
    /// JSON Schema of its parameters.
    pub schema: &'static str,
    /// Phrases that call it without a model: words, `{parameter}` slots, and finally fixed values such as `{path=inbox.md}`.
    pub phrases: &'static [&'static str],
    /// The function for arguments that are one text instead of named parameters.
    pub freeform: Option<fn(&ToolContext, &str) -> Outcome<ToolOk>>,
    pub run: fn(&ToolContext, &Map<String, Value>) -> Outcome<ToolOk>,
}

impl Tool {
    /// Its parameters, in published order.
    pub fn fields(&self) -> Vec<Field> {
        (self.fields)()
    }
}

/// Declares a module's tools: `pub const TOOLS`, and a struct of arguments for each. After the module's name come methods of [`Rules`] that apply to
/// all of them, such as `in_children`.
///
/// ```text
/// tools! { "system";
///     /// Facts about this machine.
///     system_info(SystemInfo; READ.seconds(5)) {} => facts, says ["system info"];
/// }
/// ```
macro_rules! tools {
    ($module:literal $(, $for_all:ident)*; $(
        $(#[doc = $about:literal])* $name:ident ( $args:ident ; $rules:expr ) { $($fields:tt)* }
        => $run:path $(, freeform $freeform:path)? $(, says [$($phrase:literal),* $(,)?])? ;
    )*) => {
        $( $crate::base::params::params! { #[doc = concat!("Arguments of `", stringify!($name), "`.")] pub struct $args { $($fields)* } } )*

        /// Applies the rules of the module to those of a tool.
        const fn of_module(rules: $crate::tools::engine::rules::Rules) -> $crate::tools::engine::rules::Rules {
            rules $(.$for_all())*
        }

        pub(crate) const TOOLS: &[$crate::tools::engine::tool::Tool] = &[ $( {
            #[allow(unused_mut, unused_assignments)]
            let mut freeform: Option<fn(&$crate::tools::engine::context::ToolContext, &str) -> $crate::base::problem::Outcome<$crate::tools::engine::result::ToolOk>> = None;
            $( freeform = Some($freeform); )?
            // A doc comment starts with a space.
            const SUMMARY: &str = concat!($($about),*).trim_ascii();
            const SUMMARY_JSON: [u8; $crate::base::params::schema::string_length(SUMMARY)] =
                $crate::base::params::schema::string(SUMMARY);
            $crate::tools::engine::tool::Tool {
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
pub(crate) use tools;
