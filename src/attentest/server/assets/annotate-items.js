// Items by their place in the annotator's order, fetched well ahead so that work goes on without a network for a while.
import { Pauses, Refused } from "./annotate-server.js";

const AT_ONCE = 50;
const AHEAD = 150;

export class Items {
  constructor(server, count) {
    Object.assign(this, { server, count, there: new Map(), asked: new Map() });
  }

  // null if it is not there yet
  at(place) {
    return this.there.get(place) ?? null;
  }

  // resolves when the item is there; those after it come behind
  async need(place) {
    const first = this.part(place);
    await first;
    this.ahead(place);
  }

  async ahead(place) {
    for (let next = place; next < Math.min(this.count, place + AHEAD); next += AT_ONCE) await this.part(next).catch(() => {});
  }

  part(place) {
    const start = place - (place % AT_ONCE);
    if (!this.asked.has(start)) this.asked.set(start, this.fetch(start));
    return this.asked.get(start);
  }

  async fetch(start) {
    const pauses = new Pauses();
    for (;;) {
      try {
        const found = await this.server.items(start, AT_ONCE);
        found.forEach((item, number) => this.there.set(start + number, item));
        return;
      } catch (error) {
        if (error instanceof Refused) {
          this.asked.delete(start);
          throw error;
        }
        await pauses.wait();
      }
    }
  }
}
