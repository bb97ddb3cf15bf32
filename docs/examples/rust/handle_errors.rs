//! Send a code: one message however often the network fails, and an answer to every refusal.

use std::{collections::HashMap, env, error::Error, process, thread, time::Duration};

use reqwest::{blocking::Client, header::RETRY_AFTER};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

const PAUSES: [u64; 3] = [1, 2, 4]; // seconds before the second try, the third and the last

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    message: String,
    channel: String,
    code: String,
    errors: HashMap<String, Vec<String>>,
    required: u64,
    available: u64,
    request_id: String,
}

struct Reply {
    status: u16,
    retry_after: Option<u64>,
    answer: Answer,
}

fn post(client: &Client, phone: &str, idempotency_key: &str) -> Result<Reply, Box<dyn Error>> {
    let response = client
        .post(format!("{}/otp/send", env::var("KVITOK_URL")?))
        .bearer_auth(env::var("KVITOK_KEY")?)
        .header("Idempotency-Key", idempotency_key)
        .json(&json!({ "phone": phone }))
        .send()?;
    let retry_after = response.headers().get(RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    let status = response.status();
    let answer = response
        .json() // a proxy in between answers with a page of its own, 502 for example
        .map_err(|_| format!("no answer from the service: {status}"))?;
    Ok(Reply {
        status: status.as_u16(),
        retry_after,
        answer,
    })
}

fn send_code(client: &Client, phone: &str) -> Result<Reply, Box<dyn Error>> {
    // One key for all tries: the service knows them for one request and sends one message.
    let key = Uuid::new_v4().to_string();
    for pause in PAUSES {
        let seconds = match post(client, phone, &key) {
            Ok(reply) if !matches!(reply.status, 409 | 500 | 503) => return Ok(reply),
            Ok(reply) => reply.retry_after.unwrap_or(pause),
            // Nobody knows whether the code was sent; the next try finds out.
            Err(_) => pause,
        };
        println!("trying again in {seconds} s");
        thread::sleep(Duration::from_secs(seconds));
    }
    post(client, phone, &key)
}

fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::builder().timeout(Duration::from_secs(10)).build()?;
    let Reply {
        status,
        retry_after,
        answer,
    } = send_code(&client, &env::var("PHONE")?)?;

    match status {
        200 => {
            println!("sent by {}", answer.channel);
            return Ok(());
        }
        401 => eprintln!("check the API key"),
        402 => eprintln!(
            "top up: {} needed, {} available",
            answer.required, answer.available
        ),
        422 => eprintln!("correct the request: {} {:?}", answer.code, answer.errors),
        429 => eprintln!(
            "wait {} s: {}",
            retry_after.unwrap_or_default(),
            answer.code
        ),
        _ => eprintln!(
            "{}: {} (request {})",
            answer.code, answer.message, answer.request_id
        ),
    }
    process::exit(1)
}
