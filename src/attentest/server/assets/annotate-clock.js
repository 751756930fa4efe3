// Time on each item while it is in view, added up if an item is shown again.
export class Clock {
  constructor() {
    this.times = new Map();
    this.item = null;
    this.since = null;
    this.held = false; // the instructions are in front of the item
    document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? this.go() : this.halt()));
  }

  show(item, before = 0) {
    this.halt();
    this.held = false;
    this.item = item;
    this.shown = performance.now();
    this.times.set(item, Math.max(before, this.times.get(item) ?? 0));
    if (document.visibilityState === "visible") this.go();
  }

  go() {
    if (this.item !== null && this.since === null && !this.held) this.since = performance.now();
  }

  halt() {
    if (this.since !== null) this.times.set(this.item, this.times.get(this.item) + performance.now() - this.since);
    this.since = null;
  }

  hold() {
    this.held = true;
    this.halt();
  }

  release() {
    this.held = false;
    this.go();
  }

  // ends the time on the item
  stop() {
    this.halt();
    const time = Math.round(this.times.get(this.item) ?? 0);
    this.item = null;
    return time;
  }

  get sinceShown() {
    return performance.now() - this.shown;
  }
}
