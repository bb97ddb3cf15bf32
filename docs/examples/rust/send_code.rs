//! Send a one-time code to the phone of a user.

use std::{env, error::Error, process, time::Duration};

use reqwest::blocking::Client;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Sent {
        message: String,
        id: String,
        expires_in: u32,
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
        .post(format!("{}/otp/send", env::var("KVITOK_URL")?))
        .bearer_auth(env::var("KVITOK_KEY")?)
        .json(&json!({ "phone": env::var("PHONE")? }))
        .send()?;
    let status = response.status();
    let answer = response
        .json()
        .map_err(|_| format!("no answer from the service: {status}"))?; // a proxy's own page

    match answer {
        Answer::Sent {
            message,
            id,
            expires_in,
        } => {
            println!("{message}, valid for {expires_in} s: {id}");
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
