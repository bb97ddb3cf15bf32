// Check the code that a user typed in.
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
	Success      bool      `json:"success"`
	Message      string    `json:"message"`
	VerifiedAt   time.Time `json:"verified_at"`
	Code         string    `json:"code"` // why not, when Success is false
	AttemptsLeft int       `json:"attempts_left"`
	RequestID    string    `json:"request_id"`
}

func verify(phone, code string) (*answer, error) {
	body, err := json.Marshal(map[string]string{"phone": phone, "code": code})
	if err != nil {
		return nil, err
	}
	url := os.Getenv("KVITOK_URL") + "/otp/verify"
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
	a, err := verify(os.Getenv("PHONE"), os.Getenv("CODE"))
	switch {
	case err != nil:
		log.Fatal(err)
	case a.Success:
		fmt.Println("verified at", a.VerifiedAt.Format(time.RFC3339Nano))
	case a.Code == "code_invalid":
		log.Fatalf("wrong code, %d attempts left", a.AttemptsLeft)
	default:
		// code_expired, code_used, too_many_attempts: the user needs a new code.
		log.Fatalf("%s: %s (request %s)", a.Code, a.Message, a.RequestID)
	}
}
