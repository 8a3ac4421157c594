//! Module `recipes`: dishes from TheMealDB (<https://www.themealdb.com/api.php>).

use std::time::Duration;

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::params::choice;
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::{clip, escape_controls, plural, single_spaced};
use crate::net::service::ServiceResponse;
use crate::net::services::{Service, THEMEALDB};
use crate::tools::READ;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::output::found::{joined, name, numbered, short_line};
use crate::tools::output::labeled::LabeledText;
use crate::tools::output::untrusted::fenced;

/// The services used.
const ASKS: &[&Service] = &[&THEMEALDB];

choice! {
    /// How to search.
    pub(crate) enum RecipeSearchType { Name = "name", Ingredient = "ingredient" }
}

tools! { "recipes";
    /// Search TheMealDB by dish or main ingredient.
    recipe_search(RecipeSearch; READ.seconds(10).service("themealdb").asks(ASKS)) {
        /// dish or ingredient
        query: String, example: "Arrabiata";
        /// how to search
        search_type: RecipeSearchType = "name", alias: &["type"];
    } => search, says ["find a recipe for {query}", "recipe for {query}", "recipes with {query}{search_type=ingredient}"];

    /// One full recipe.
    recipe_lookup(RecipeLookup; READ.seconds(10).service("themealdb").asks(ASKS)) {
        /// TheMealDB id
        meal_id: String, example: "52771", alias: &["id"];
    } => lookup, says ["show recipe {meal_id}"];
}

/// The path of the public API key.
const ROOT: &str = "/api/json/v1/1/";
/// Maximum hits.
const MAX_HITS: usize = 10;
/// Number of ingredient fields.
const INGREDIENT_FIELDS: usize = 20;
/// Maximum characters of the instructions in a search result.
const MAX_INSTRUCTION_CHARS: usize = 200;
/// How long responses are cached.
const CACHE_TIME: Duration = Duration::from_secs(600);
/// Time limit for the service, below the call's ten seconds, so that a timeout names the service.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(8);

/// The value of "meals" in a response.
enum Meals {
    /// Recipes.
    Some(Vec<Value>),
    /// Nothing found.
    None,
    /// A message instead, as for an invalid id.
    Said(String),
}

fn search(ctx: &ToolContext, args: RecipeSearch) -> Outcome<String> {
    let query = single_spaced(&args.query);
    not_empty("query", &query, "Give a dish or an ingredient.")?;
    let ask = ctx
        .service(&THEMEALDB)
        .path(ROOT)
        .cache_for(CACHE_TIME)
        .timeout(SERVICE_TIMEOUT);
    let (answer, what) = match args.search_type {
        RecipeSearchType::Name => (ask.path("search.php").query("s", &query), "dish"),
        // The service writes ingredients with underscores.
        RecipeSearchType::Ingredient => {
            let name = query.replace(' ', "_");
            (ask.path("filter.php").query("i", name), "main ingredient")
        }
    };
    let requested = clip(&escape_controls(&query), 100);
    let found = match meals(&answer.get()?)? {
        Meals::Some(found) => found,
        Meals::Said(words) if !is_miss(&words) => {
            return Err(
                Problem::network(format!("TheMealDB refused: {words}.")).next("Try other words.")
            );
        }
        Meals::None | Meals::Said(_) => {
            let other = match args.search_type {
                RecipeSearchType::Name => "search_type ingredient looks for what is in a dish",
                RecipeSearchType::Ingredient => "search_type name looks for dishes",
            };
            return Ok(format!(
                "No recipes found at TheMealDB for the {what} \"{requested}\"; {other}."
            ));
        }
    };
    let head = match found.len() > MAX_HITS {
        true => format!("{MAX_HITS} of {}", plural(found.len(), "recipe")),
        false => plural(found.len(), "recipe"),
    };
    Ok(format!(
        "{head} at TheMealDB for the {what} \"{requested}\" (whole recipe: recipe_lookup with the id):\n{}",
        numbered(found.iter().take(MAX_HITS).map(hit))
    ))
}

/// One hit: a line, and below it further details of a search by name.
fn hit(meal: &Value) -> String {
    let parts = [
        name(meal, "strMeal").or(Some("(without a name)".to_owned())),
        meal.word("idMeal")
            .map(|id| format!("id {}", short_line(&id))),
        name(meal, "strCategory"),
        name(meal, "strArea"),
    ];
    let mut text = joined(parts, ", ");
    let all: Vec<String> = ingredients(meal)
        .into_iter()
        .map(|(measure, name)| {
            if measure.is_empty() {
                name
            } else {
                format!("{measure} {name}")
            }
        })
        .collect();
    if !all.is_empty() {
        text.push_str(&format!("\n    {}", all.join(", ")));
    }
    if let Some(method) = meal.text("strInstructions") {
        let method = single_spaced(method);
        text.push_str(&format!(
            "\n    {}",
            clip(&escape_controls(&method), MAX_INSTRUCTION_CHARS)
        ));
    }
    text
}

fn lookup(ctx: &ToolContext, args: RecipeLookup) -> Outcome<String> {
    let id = args.meal_id.trim();
    let shown = clip(&escape_controls(id), 60);
    let unknown = || {
        Problem::missing(format!("TheMealDB has no recipe with the id \"{shown}\"."))
            .next("recipe_search finds ids, such as 52771.")
    };
    not_empty("id", id, "recipe_search finds ids, such as 52771.")?;
    let answer = ctx.service(&THEMEALDB).path(ROOT).path("lookup.php");
    let found = match meals(
        &answer
            .query("i", id)
            .cache_for(CACHE_TIME)
            .timeout(SERVICE_TIMEOUT)
            .get()?,
    )? {
        Meals::Some(found) => found,
        Meals::None | Meals::Said(_) => return Err(unknown()),
    };
    let meal = found.first().ok_or_else(unknown)?;
    let title = name(meal, "strMeal").unwrap_or_else(|| "(without a name)".to_owned());
    let mut sheet = LabeledText::new(&title);
    let id = meal.word("idMeal").map(|id| short_line(&id));
    sheet.row("Id", id.unwrap_or(shown));
    let other = name(meal, "strMealAlternate").or_else(|| name(meal, "strDrinkAlternate"));
    sheet.row("Also called", other);
    sheet.row("Category", name(meal, "strCategory"));
    sheet.row("Cuisine", name(meal, "strArea"));
    sheet.words("Tags", &tags(meal));
    sheet.row("Source", name(meal, "strSource"));
    let video = name(meal, "strYoutube").filter(|link| link.starts_with("http"));
    sheet.row("Video", video);
    let all = ingredients(meal);
    if !all.is_empty() {
        sheet.line(&format!("\nIngredients ({}):", all.len()));
        let width = all.iter().map(|(measure, _)| measure.chars().count()).max();
        let width = width.unwrap_or(0).min(20);
        for (measure, name) in all {
            sheet.line(&format!("  {measure:<width$}  {name}"));
        }
    }
    match steps(meal.text("strInstructions").unwrap_or_default()) {
        steps if steps.is_empty() => sheet.line("\nTheMealDB has no method for it."),
        steps => sheet.line(&format!(
            "\nMethod:\n{}",
            fenced("the recipe at TheMealDB", &steps)
        )),
    }
    Ok(sheet.text())
}

/// Classifies a response; the order of the checks matters.
fn meals(answer: &ServiceResponse) -> Outcome<Meals> {
    let page = answer.is_page() && answer.status != 429;
    if answer.status >= 500 || page || answer.is_ok() && answer.bytes.trim_ascii().is_empty() {
        let reason = if !answer.is_ok() {
            format!("status {}", answer.status)
        } else if page {
            "it sent a web page where recipes were promised".to_owned()
        } else {
            "it sent nothing".to_owned()
        };
        return Err(
            Problem::network(format!("TheMealDB is not answering: {reason}."))
                .next("Try again later."),
        );
    }
    let message = |value: &Value| {
        let words = value.text("error").or_else(|| value.text("message"));
        words.map(str::to_owned)
    };
    let value = answer.json(message)?;
    match value.get("meals") {
        Some(Value::Array(list)) => {
            let meals: Vec<Value> = list
                .iter()
                .filter(|meal| meal.is_object())
                .cloned()
                .collect();
            if meals.is_empty() && !list.is_empty() {
                return Err(answer.unreadable());
            }
            Ok(if meals.is_empty() {
                Meals::None
            } else {
                Meals::Some(meals)
            })
        }
        Some(Value::Null) => Ok(Meals::None),
        Some(Value::String(words)) => Ok(Meals::Said(answer.quoted(words))),
        _ => match message(&value) {
            Some(words) => Err(Problem::network(format!(
                "TheMealDB refused: {}.",
                answer.quoted(&words).trim_end_matches('.')
            ))
            .next("Try again later.")),
            None => Err(answer.unreadable()),
        },
    }
}

/// True for messages that mean "not found".
fn is_miss(words: &str) -> bool {
    let words = words.to_lowercase();
    words.is_empty()
        || ["no data", "not found", "no meal", "none"]
            .iter()
            .any(|miss| words.contains(miss))
}

/// The tags, which come as one comma-separated text.
fn tags(meal: &Value) -> Vec<String> {
    let tags = meal.text("strTags").unwrap_or_default().split(',');
    let tags = tags.map(short_line).filter(|tag| !tag.is_empty());
    tags.collect()
}

/// Measure and name of each ingredient: empty fields may precede used ones.
fn ingredients(meal: &Value) -> Vec<(String, String)> {
    let field = |name: &str, index: usize| {
        let word = meal.word(&format!("{name}{index}"));
        word.map(|word| short_line(&word)).unwrap_or_default()
    };
    (1..=INGREDIENT_FIELDS)
        .map(|at| (field("strMeasure", at), field("strIngredient", at)))
        .filter(|(_, name)| !name.is_empty())
        .collect()
}

/// The instructions, one paragraph per step; numbers in the text are kept, and a number alone on its line is joined to the next line.
fn steps(text: &str) -> String {
    let mut steps: Vec<String> = Vec::new();
    let mut label: Option<String> = None;
    for paragraph in text.split(['\r', '\n']) {
        let words = single_spaced(paragraph);
        let words = escape_controls(&words);
        if words.is_empty() {
            continue;
        }
        if is_label(&words) {
            label = Some(words.trim_end_matches(['.', ':', ')']).to_owned());
            continue;
        }
        steps.push(match label.take() {
            Some(number) if number.bytes().all(|b| b.is_ascii_digit()) => {
                format!("{number}. {words}")
            }
            Some(label) => format!("{label}: {words}"),
            None => words,
        });
    }
    steps.join("\n")
}

/// "STEP 1", "2", "3." on a line of their own.
fn is_label(words: &str) -> bool {
    let lower = words.to_lowercase();
    let rest = lower.strip_prefix("step").unwrap_or(&lower).trim();
    let digits = rest.trim_end_matches(['.', ':', ')']);
    !digits.is_empty() && digits.len() <= 2 && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn an_empty_field_before_an_ingredient_is_skipped() {
        let meal = json!({"strIngredient1": "flour", "strMeasure1": " 200 g ", "strIngredient2": " ", "strMeasure2": "1",
            "strIngredient3": null, "strIngredient20": "salt", "strMeasure20": null, "strIngredient21": "no"});
        assert_eq!(
            ingredients(&meal),
            [
                ("200 g".into(), "flour".into()),
                (String::new(), "salt".into())
            ]
        );
    }

    #[test]
    fn instructions_have_one_step_a_line() {
        assert_eq!(
            steps("STEP 1\r\nBoil  water.\r\n\r\n2.\r\nAdd salt.\r\nServe.\r\n"),
            "STEP 1: Boil water.\n2. Add salt.\nServe."
        );
        assert_eq!(steps(" \r\n "), "");
    }

    #[test]
    fn empty_tags_are_dropped() {
        let tags = |text: &str| tags(&json!({"strTags": text}));
        assert_eq!(tags("Pasta,,Curry, "), ["Pasta", "Curry"]);
        assert_eq!(tags(","), [] as [String; 0]);
    }

    proptest! {
        #[test]
        fn any_instructions_keep_their_words(text in "[a-zé .\r\n]{0,80}") {
            let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(plain(&steps(&text)), plain(&text));
        }

        #[test]
        fn any_meal_is_accepted(value in ".{0,40}", n in 1usize..=20) {
            let meal = json!({format!("strIngredient{n}"): value, "strTags": value, "strMeal": value, "strInstructions": value});
            let text = hit(&meal);
            prop_assert!(!text.contains("null"));
            prop_assert!(ingredients(&meal).len() <= 1);
        }
    }
}
