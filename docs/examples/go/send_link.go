// Send a message with a short link to a phone.
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
	ShortURL  string `json:"short_url"`
	Channel   string `json:"channel"`
	Status    string `json:"status"`
	Code      string `json:"code"` // why not, when Success is false
	RequestID string `json:"request_id"`
}

func sendLink(phone, link, text string) (*answer, error) {
	body, err := json.Marshal(map[string]string{"phone": phone, "url": link, "text": text})
	if err != nil {
		return nil, err
	}
	url := os.Getenv("KVITOK_URL") + "/links/send"
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
	// The short link takes the place of :link.
	a, err := sendLink(os.Getenv("PHONE"), os.Getenv("LINK"), "Your order is on its way: :link")
	if err != nil {
		log.Fatal(err)
	}
	if !a.Success {
		log.Fatalf("%s: %s (request %s)", a.Code, a.Message, a.RequestID)
	}
	fmt.Printf("%s by %s: %s\n", a.ShortURL, a.Channel, a.Status)
}
