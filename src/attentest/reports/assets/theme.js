// Before the page is drawn, so that no light flashes in the dark.
const kept = {
  get: () => { try { return localStorage.getItem("attentest-theme"); } catch { return null; } },
  set: (theme) => { try { localStorage.setItem("attentest-theme", theme); } catch { /* works without */ } },
};

const show = (theme) => {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
};

show(kept.get());
addEventListener("DOMContentLoaded", () => {
  const choice = document.querySelector(".theme");
  choice.hidden = false;
  const radio = choice.querySelector(`[value="${document.documentElement.dataset.theme ?? "auto"}"]`);
  radio.checked = true;
  choice.addEventListener("change", (event) => {
    show(event.target.value);
    kept.set(event.target.value);
  });
});
