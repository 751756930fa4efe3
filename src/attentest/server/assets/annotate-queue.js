// Entries that wait to be sent. Each lies in the browser's storage under a name of its own, so that tabs which add and
// remove at the same time never overwrite each other, and a closed tab loses nothing.
const PREFIX = "attentest.people";

export const prefixOf = (study, annotator) => [PREFIX, study, encodeURIComponent(annotator), ""].join("/");

export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class Queue {
  constructor(prefix, storage) {
    this.prefix = prefix;
    this.storage = storage; // null where the browser has none
    this.own = new Map(); // what this tab added and nobody acknowledged to it
    this.kept = storage !== null; // whether a closed tab loses nothing
  }

  // in the order in which they were added, in whichever tab
  entries() {
    const found = new Map(this.own);
    for (const name of this.names()) {
      const entry = readable(this.storage.getItem(name));
      if (entry !== null) found.set(entry.key, entry);
    }
    return [...found.values()].sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1));
  }

  names() {
    if (this.storage === null) return [];
    return Object.keys(this.storage).filter((name) => name.startsWith(this.prefix));
  }

  add(entry) {
    const last = this.entries().at(-1);
    const whole = { ...entry, key: newKey(), at: Math.max(Date.now(), last === undefined ? 0 : last.at + 1) };
    this.own.set(whole.key, whole);
    try {
      this.storage?.setItem(this.prefix + whole.key, JSON.stringify(whole));
    } catch {
      this.kept = false; // full, or forbidden
    }
    return whole;
  }

  remove(entry) {
    this.own.delete(entry.key);
    this.storage?.removeItem(this.prefix + entry.key);
  }

  // what another tab added, told by the browser's event; null for anything else
  heard(event) {
    return event.key?.startsWith(this.prefix) ? readable(event.newValue) : null;
  }
}

const readable = (text) => {
  try {
    const entry = JSON.parse(text);
    return typeof entry?.key === "string" && typeof entry.item === "string" ? entry : null;
  } catch {
    return null;
  }
};

export const storageOf = () => {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
};
