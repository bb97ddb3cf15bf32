//! Check the code that a user typed in.

use std::{env, error::Error, process, time::Duration};

use reqwest::blocking::Client;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Verified {
        verified_at: String,
    },
    Refused {
        code: String,
        message: String,
        attempts_left: Option<u32>,
        request_id: String,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::builder().timeout(Duration::from_secs(10)).build()?;
    let response = client
        .post(format!("{}/otp/verify", env::var("KVITOK_URL")?))
        .bearer_auth(env::var("KVITOK_KEY")?)
        .json(&json!({ "phone": env::var("PHONE")?, "code": env::var("CODE")? }))
        .send()?;
    let status = response.status();
    let answer = response
        .json()
        .map_err(|_| format!("no answer from the service: {status}"))?; // a proxy's own page

    match answer {
        Answer::Verified { verified_at } => {
            println!("verified at {verified_at}");
            return Ok(());
        }
        Answer::Refused {
            code,
            attempts_left: Some(left),
            ..
        } if code == "code_invalid" => {
            eprintln!("wrong code, {left} attempts left");
        }
        // code_expired, code_used, too_many_attempts: the user needs a new code.
        Answer::Refused {
            code,
            message,
            request_id,
            ..
        } => {
            eprintln!("{code}: {message} (request {request_id})");
        }
    }
    process::exit(1)
}
