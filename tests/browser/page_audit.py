"""Looks for faults of a page: by axe, and by the rules of this house."""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

AXE = (Path(__file__).parents[1] / "vendor/axe/axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# 640 is what 1280 leaves at a zoom of 200 %.
SIZES = {320: 640, 640: 400, 768: 1024, 1024: 768, 1280: 800}
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
REDIRECTING = ("/account/password/reset/key/", "/admin/login/")  # these lead on to another page
ERROR_PAGES = (
    "/cabinet/broken/",
    "/no-such-link",
    "/bcdfghj",  # of links that are off
    "/account/sso/callback",  # which expired
)
INLINE_CODE = re.compile(r"<style|<[^>]*\s(?:style|on[a-z]+)=|javascript:", re.IGNORECASE)
RECORD_CSP_VIOLATIONS = """
    window.breaches = [];
    addEventListener("securitypolicyviolation", (event) =>
        window.breaches.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
# In the dark only colours differ; the rest has been judged already. To preload imported sheets axe
# adds style elements, which the content policy refuses; none of these rules reads them.
RUN_AXE = """async ([rules, isDark]) => {
    const only = isDark
        ? {type: "rule", values: ["color-contrast"]} : {type: "tag", values: rules};
    const more = {"landmark-unique": {enabled: true}};
    const options = {runOnly: only, rules: more, resultTypes: ["violations"], preload: false};
    const found = await axe.run(document, options);
    return found.violations.flatMap(({id, nodes}) => nodes.map((node) =>
        `${id}: ${node.html.slice(0, 160)} ${node.any.map((one) => one.message).join("; ")}`));
}"""
FIND_OVERFLOW = """() => {
    const over = document.documentElement.scrollWidth - innerWidth;
    const wide = [...document.querySelectorAll("body *")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth)
        .map((one) => one.outerHTML.slice(0, 120));
    return over > 0 ? [`${over} px wider than the screen: ${wide.slice(-3)}`] : [];
}"""
# A select shows its value on one line, and cuts off the rest.
FIND_CUT_CHOICES = """() => {
    const pen = document.createElement("canvas").getContext("2d");
    return [...document.querySelectorAll("select")].flatMap((select) => {
        if (!select.checkVisibility() || select.multiple) return [];
        const style = getComputedStyle(select), text = select.selectedOptions[0]?.text ?? "";
        const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
        pen.font = style.font;
        const over = pen.measureText(text).width - (select.clientWidth - padding);
        return over > 1 ? [`cut off in ${select.name}: ${text}`] : [];
    });
}"""


class PageAudit:
    """Audits pages in one window; its cookie decides who is signed in."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.url = url
        self.context: BrowserContext = browser.new_context(
            locale="ru-RU",
            reduced_motion="reduce",  # a colour in transition has no contrast yet
        )
        self.context.add_init_script(RECORD_CSP_VIOLATIONS)
        self.page: Page = self.context.new_page()

    def complaints(self, cookie: str, path: str) -> list[str]:
        self.context.clear_cookies()
        if cookie:
            self.context.add_cookies([{"name": "session", "value": cookie, "url": self.url}])
        return self.complaints_of(self._open(path))

    def complaints_of(self, markup: str) -> list[str]:
        """The findings on the open page."""
        result = [f"in the markup: {match[:120]}" for match in INLINE_CODE.findall(markup)]
        result += self.page.evaluate("window.breaches")
        self.page.set_viewport_size({"width": 360, "height": 740})
        result += self.page.evaluate(FIND_CUT_CHOICES)
        self.page.evaluate(AXE)
        return result + [
            f"{width} {theme}: {breach}"
            for width, height in SIZES.items()
            for theme in THEMES
            for breach in self.judged(width, height, theme)
        ]

    def _open(self, path: str) -> str:
        response = self.page.goto(f"{self.url}{path}")
        assert response is not None
        where = urlsplit(response.url).path
        assert where == path or path.startswith(REDIRECTING), f"{path} led to {where}"
        assert response.ok or path.startswith(ERROR_PAGES), f"{path}: {response.status}"
        return response.text()

    def judged(self, width: int, height: int, theme: Theme) -> list[str]:
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=theme)
        result: list[str] = self.page.evaluate(RUN_AXE, [RULES, theme == "dark"])
        return result + (self.page.evaluate(FIND_OVERFLOW) if theme == "light" else [])
