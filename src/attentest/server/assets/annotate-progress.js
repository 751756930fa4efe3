// Which items are answered: what the server has, and on top of it what waits to be sent.
export class Progress {
  constructor(order) {
    this.order = order;
    this.answers = new Map(); // item -> answer, the latest last
  }

  restart(answers, entries) {
    this.answers = new Map(answers.map((answer) => [answer.item, answer]));
    entries.forEach((entry) => this.take(entry));
  }

  take(entry) {
    this.answers.delete(entry.item);
    if (entry.kind !== "undo") this.answers.set(entry.item, entry);
  }

  has(item) {
    return this.answers.has(item);
  }

  get done() {
    return this.order.reduce((count, item) => count + this.answers.has(item), 0);
  }

  // the place of the first item without an answer; -1 if there is none
  next() {
    return this.order.findIndex((item) => !this.answers.has(item));
  }

  last() {
    return [...this.answers.values()].at(-1) ?? null;
  }
}
