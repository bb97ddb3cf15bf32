// Swagger UI over our own schema. The key given to it stays in this tab.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("swagger-ui");
  const dark = () => document.documentElement.dataset.bsTheme === "dark";
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark());
  new MutationObserver(follow).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  follow();
  SwaggerUIBundle({
    url: place.dataset.schema,
    domNode: place,
    presets: [SwaggerUIBundle.presets.apis],
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
  });
});
