// Requests with the annotator's token. What goes wrong is told apart: for good, or worth another try.
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}
export class Unreachable extends Error {}

const PATIENCE = 15_000; // milliseconds after which a request counts as lost
const MOST_KEPT_ALIVE = 30_000; // bytes that a browser sends on while its tab is closed

export class Server {
  constructor(token) {
    this.token = token;
  }

  progress() {
    return this.ask("/api/progress");
  }

  items(start, limit) {
    return this.ask(`/api/items?start=${start}&limit=${limit}`);
  }

  // only the server's own word counts: a page of some other network that says 200 is no acknowledgement
  async save({ kind, at, ...body }) {
    const told = await this.ask(kind === "undo" ? "/api/undone" : "/api/answers", body);
    if (told.saved !== body.key) throw new Unreachable();
  }

  async ask(path, body) {
    const headers = { authorization: `Bearer ${this.token}` };
    const asked = { headers, redirect: "error", signal: AbortSignal.timeout(PATIENCE) };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      Object.assign(asked, { method: "POST", body: JSON.stringify(body) });
      asked.keepalive = asked.body.length < MOST_KEPT_ALIVE;
    }
    let answer, found;
    try {
      answer = await fetch(path, asked);
      found = await answer.json();
    } catch {
      throw new Unreachable();
    }
    if (answer.ok) return found;
    // a server that was started under another address (403, 421) may be started under the right one again
    const temporary = answer.status >= 500 || [403, 421, 429].includes(answer.status) || typeof found?.error !== "string";
    throw temporary ? new Unreachable() : new Refused(answer.status, found.error);
  }
}

// waits longer after each failure, and less long when the browser says that the network is back
export class Pauses {
  constructor(first = 500, longest = 10_000) {
    Object.assign(this, { first, longest, next: first });
  }

  reset() {
    this.next = this.first;
  }

  wait() {
    const time = this.next * (0.75 + Math.random() / 2);
    this.next = Math.min(this.longest, this.next * 2);
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        removeEventListener("online", go);
        resolve();
      };
      const timer = setTimeout(go, time);
      addEventListener("online", go);
    });
  }
}
