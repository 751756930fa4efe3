csvButtons();
sortableTables();
filterOfOurs();
document.querySelectorAll(".figures").forEach(tabbed);
charts();
document.querySelectorAll(".heatmaps").forEach(heatmaps);

// on a phone the contents are folded
const contents = document.querySelector(".contents details");
if (matchMedia("(max-width: 62rem)").matches) contents.open = false;
matchMedia("(max-width: 62rem)").addEventListener("change", (narrow) => { contents.open = !narrow.matches; });

// where the reader is: the last heading that has passed the upper third
const links = [...document.querySelectorAll(".contents a")].map((link) => [link, document.getElementById(link.hash.slice(1))]);
let waiting = false;
const mark = () => {
  waiting = false;
  const passed = links.filter(([, heading]) => heading.getBoundingClientRect().top < innerHeight / 3);
  const here = passed.at(-1)?.[0];
  for (const [link] of links) {
    if (link === here) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
};
addEventListener("scroll", () => {
  if (!waiting) requestAnimationFrame(mark);
  waiting = true;
}, { passive: true });

// a link into a folded part unfolds it
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
};
addEventListener("hashchange", unfold);
unfold();

// paper has nothing to click: everything is open while it is printed
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("main details:not([open])")];
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
