csvButtons();
sortableTables();
filterOfOurs();
document.querySelectorAll(".figures").forEach(tabbed);
charts();
document.querySelectorAll(".heatmaps").forEach(heatmaps);

// on a phone the contents are folded; a link to a folded or hidden place opens it
const contents = document.querySelector(".contents details");
if (matchMedia("(max-width: 62rem)").matches) contents.open = false;
matchMedia("(max-width: 62rem)").addEventListener("change", (narrow) => { contents.open = !narrow.matches; });

// where the reader is
const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
const near = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((one) => one.isIntersecting)) {
    for (const link of links.values()) link.removeAttribute("aria-current");
    links.get(entry.target.id).setAttribute("aria-current", "true");
  }
}, { rootMargin: "0px 0px -70% 0px" });
for (const id of links.keys()) near.observe(document.getElementById(id));

// paper has nothing to click: everything is open while it is printed
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("main details:not([open])")];
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
