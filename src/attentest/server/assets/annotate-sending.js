// Sends what waits, one entry after the other, each until it is acknowledged. Another tab may send the same at the same
// time: an entry goes out only after all before it are stored, so their order holds, and its key stores it once.
import { Pauses, Refused } from "./annotate-server.js";

export class Sending {
  constructor(queue, server, changed) {
    Object.assign(this, { queue, server, changed, running: false, failing: false, stopped: null });
    this.refused = new Map(); // key -> why; kept in the browser, and tried again when the page is opened again
  }

  waiting() {
    return this.queue.entries().filter((entry) => !this.refused.has(entry.key));
  }

  async wake() {
    if (this.running || this.stopped) return;
    this.running = true;
    const pauses = new Pauses();
    for (let entry; !this.stopped && (entry = this.waiting()[0]); ) {
      try {
        await this.server.save(entry);
        this.queue.remove(entry);
        this.failing = false;
        pauses.reset();
      } catch (error) {
        if (error instanceof Refused) this.refuse(entry, error);
        else await this.pause(pauses);
      }
      this.changed();
    }
    this.running = false;
  }

  refuse(entry, error) {
    if (error.status === 401) this.stopped = error.message; // nothing more can be sent with this link
    else this.refused.set(entry.key, error.message);
  }

  async pause(pauses) {
    this.failing = true;
    this.changed();
    await pauses.wait();
  }
}
