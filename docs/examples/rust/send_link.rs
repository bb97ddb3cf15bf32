//! Send a message with a short link to a phone.

use std::{env, error::Error, process, time::Duration};

use reqwest::blocking::Client;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Sent {
        short_url: String,
        channel: String,
        status: String,
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
        .post(format!("{}/links/send", env::var("KVITOK_URL")?))
        .bearer_auth(env::var("KVITOK_KEY")?)
        .json(&json!({
            "phone": env::var("PHONE")?,
            "url": env::var("LINK")?,
            "text": "Your order is on its way: :link", // the short link takes the place of :link
        }))
        .send()?;
    let status = response.status();
    let answer = response
        .json()
        .map_err(|_| format!("no answer from the service: {status}"))?; // a proxy's own page

    match answer {
        Answer::Sent {
            short_url,
            channel,
            status,
        } => {
            println!("{short_url} by {channel}: {status}");
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
