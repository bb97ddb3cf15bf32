// Send a one-time code to the phone of a user.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

type answer struct {
	Success   bool   `json:"success"`
	Message   string `json:"message"`
	ID        string `json:"id"`
	ExpiresIn int    `json:"expires_in"`
	Code      string `json:"code"` // why not, when Success is false
	RequestID string `json:"request_id"`
}

func sendCode(phone string) (*answer, error) {
	body, err := json.Marshal(map[string]string{"phone": phone})
	if err != nil {
		return nil, err
	}
	url := os.Getenv("KVITOK_URL") + "/otp/send"
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KVITOK_KEY"))
	request.Header.Set("Content-Type", "application/json")

	client := &http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.Header.Get("Content-Type") != "application/json" { // a proxy's own page
		return nil, fmt.Errorf("no answer from the service: %d", response.StatusCode)
	}
	var a answer
	return &a, json.NewDecoder(response.Body).Decode(&a)
}

func main() {
	log.SetFlags(0)
	a, err := sendCode(os.Getenv("PHONE"))
	if err != nil {
		log.Fatal(err)
	}
	if !a.Success {
		log.Fatalf("%s: %s (request %s)", a.Code, a.Message, a.RequestID)
	}
	fmt.Printf("%s, valid for %d s: %s\n", a.Message, a.ExpiresIn, a.ID)
}
