//! Make a short link.

use std::{env, error::Error, process, time::Duration};

use reqwest::blocking::Client;
use serde::Deserialize;
use serde_json::json;

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Shortened {
        short_url: String,
        expires_at: Option<String>,
    },
    Refused {
        code: String,
        message: String,
        request_id: String,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::builder().timeout(Duration::from_secs(10)).build()?;
    let response = client
        .post(format!("{}/links/shorten", env::var("KVITOK_URL")?))
        .bearer_auth(env::var("KVITOK_KEY")?)
        .json(&json!({ "url": env::var("LINK")?, "expires_in": WEEK.as_secs() }))
        .send()?;
    let status = response.status();
    let answer = response
        .json()
        .map_err(|_| format!("no answer from the service: {status}"))?; // a proxy's own page

    match answer {
        Answer::Shortened {
            short_url,
            expires_at,
        } => {
            println!(
                "{short_url} until {}",
                expires_at.as_deref().unwrap_or("it is disabled")
            );
            Ok(())
        }
        Answer::Refused {
            code,
            message,
            request_id,
        } => {
            eprintln!("{code}: {message} (request {request_id})");
            process::exit(1)
        }
    }
}
