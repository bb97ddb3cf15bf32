// Send a code: one message however often the network fails, and an answer to every refusal.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

type answer struct {
	Message   string              `json:"message"`
	Channel   string              `json:"channel"`
	Code      string              `json:"code"`
	Errors    map[string][]string `json:"errors"`
	Required  int                 `json:"required"`
	Available int                 `json:"available"`
	RequestID string              `json:"request_id"`

	status     int
	retryAfter int // seconds
}

var (
	client = &http.Client{Timeout: 10 * time.Second}
	pauses = []int{1, 2, 4} // seconds before the second try, the third and the last
)

func post(body []byte, idempotencyKey string) (*answer, error) {
	url := os.Getenv("KVITOK_URL") + "/otp/send"
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KVITOK_KEY"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", idempotencyKey)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.Header.Get("Content-Type") != "application/json" { // a proxy's own page
		return nil, fmt.Errorf("no answer from the service: %d", response.StatusCode)
	}
	a := &answer{status: response.StatusCode}
	a.retryAfter, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	return a, json.NewDecoder(response.Body).Decode(a)
}

func sendCode(phone string) (*answer, error) {
	body, err := json.Marshal(map[string]string{"phone": phone})
	if err != nil {
		return nil, err
	}
	// One key for all tries: the service knows them for one request and sends one message.
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	key := hex.EncodeToString(random)
	for _, seconds := range pauses {
		a, err := post(body, key)
		if err == nil && a.status != 409 && a.status != 500 && a.status != 503 {
			return a, nil
		}
		// After an error nobody knows whether the code was sent; the next try finds out.
		if err == nil && a.retryAfter > 0 {
			seconds = a.retryAfter
		}
		fmt.Printf("trying again in %d s\n", seconds)
		time.Sleep(time.Duration(seconds) * time.Second)
	}
	return post(body, key)
}

func main() {
	log.SetFlags(0)
	a, err := sendCode(os.Getenv("PHONE"))
	if err != nil {
		log.Fatal(err)
	}
	switch a.status {
	case http.StatusOK:
		fmt.Println("sent by", a.Channel)
	case http.StatusUnauthorized:
		log.Fatal("check the API key")
	case http.StatusPaymentRequired:
		log.Fatalf("top up: %d needed, %d available", a.Required, a.Available)
	case http.StatusUnprocessableEntity:
		log.Fatalf("correct the request: %s %v", a.Code, a.Errors)
	case http.StatusTooManyRequests:
		log.Fatalf("wait %d s: %s", a.retryAfter, a.Code)
	default:
		log.Fatalf("%s: %s (request %s)", a.Code, a.Message, a.RequestID)
	}
}
