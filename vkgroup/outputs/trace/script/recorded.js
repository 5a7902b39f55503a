// A recorded execution: the steps of one workgroup, and its memories after each.

// A step is [number, position, set of lanes, ending, leaves of its value, accesses, leaves of each operand]; the number
// is -1 for an instruction of another workgroup. A leaf is [type, numbers, start, uniform, start of flags].
class Trace {
  constructor(raw) {
    Object.assign(this, raw);
    this.count = raw.lane.length;
    this.sets = raw.sets.map((set) => Uint8Array.from(atob(set), (letter) => letter.charCodeAt(0)));
    this.sizes = this.sets.map((set) => set.reduce((sum, byte) => { while (byte) { sum += byte & 1; byte >>= 1; } return sum; }, 0));
    this.indices = new Map();
    const every = this.every = 64;
    // For each lane the last step that it executes before every 64th step.
    this.checkpoints = [];
    const last = new Int32Array(this.count).fill(-1);
    raw.steps.forEach((step, at) => {
      if (at % every === 0) this.checkpoints.push(last.slice());
      for (const lane of this.lanesOf(at)) last[lane] = at;
    });
    this.final = last;
    this.subgroups = [...new Set(raw.subgroup)];
    this.state = raw.memories.map((memory) => ({
      values: new Array(memory.elements.length).fill(null), types: new Array(memory.elements.length).fill("u32"),
      writers: new Int32Array(memory.elements.length).fill(-1), who: new Int32Array(memory.elements.length),
    }));
    this.earlier = [];
    this.places = new Map();
    this.at = -1;
  }
  has(set, lane) { return this.sets[set][lane >> 3] >> (lane & 7) & 1; }
  lanesOf(at) {
    const set = this.steps[at][2];
    if (!this.indices.has(set)) {
      const lanes = [];
      for (let lane = 0; lane < this.count; ++lane) if (this.has(set, lane)) lanes.push(lane);
      this.indices.set(set, lanes);
    }
    return this.indices.get(set);
  }
  /** The place of each lane among those that execute a step. */
  placesOf(at) {
    const set = this.steps[at][2];
    if (!this.places.has(set)) {
      const places = new Int32Array(this.count).fill(-1);
      this.lanesOf(at).forEach((lane, place) => { places[lane] = place; });
      this.places.set(set, places);
    }
    return this.places.get(set);
  }
  active(at, lane) { return this.has(this.steps[at][2], lane); }
  /** For each lane the last step up to `at` that it executes, or -1. */
  lastOf(at) {
    const last = this.checkpoints[Math.floor(at / this.every)].slice();
    for (let step = at - at % this.every; step <= at; ++step) for (const lane of this.lanesOf(step)) last[lane] = step;
    return last;
  }
  next(at, lane) {
    for (let step = at + 1; step < this.steps.length; ++step) if (this.active(step, lane)) return step;
    return -1;
  }
  get complete() { return this.steps.length && this.steps.at(-1)[0] + 1 >= this.total; }
  /** The arrays of a step's value. */
  leaves(at) {
    if (this.decoded?.at === at) return this.decoded.leaves;
    const leaves = this.steps[at][4].map(([type, rows, start, uniform, flags]) => {
      const width = uniform ? 1 : this.lanesOf(at).length;
      return { type, rows, uniform, width, all: numbers(type, start, rows * width), marks: flags < 0 ? null : new Uint8Array(block, flags, rows * width) };
    });
    this.decoded = { at, leaves };
    return leaves;
  }
  /** The value of a step in a lane: a text, made of its numbers by a function, and whether one is undefined. */
  value(at, lane, worded = text) {
    const place = this.placesOf(at)[lane], parts = [];
    let undefined_ = false;
    for (const { type, rows, uniform, width, all, marks } of this.leaves(at)) {
      for (let row = 0; row < rows; ++row) {
        const index = row * width + (uniform ? 0 : place);
        parts.push(worded(type, all[index]));
        undefined_ ||= Boolean(marks && marks[index]);
      }
    }
    return { text: parts.length > 1 ? `(${parts.join(", ")})` : parts[0] ?? "", undefined: undefined_ };
  }
  /** The operands of a subgroup operation in a lane. */
  operands(at, lane) {
    const place = this.placesOf(at)[lane], count = this.lanesOf(at).length;
    return this.steps[at][6].map((leaves) => leaves.flatMap(([type, rows, start, uniform]) => {
      const width = uniform ? 1 : count, all = numbers(type, start, rows * width);
      return Array.from({ length: rows }, (_, row) => text(type, all[row * width + (uniform ? 0 : place)]));
    }).join(", "));
  }
  /** The accesses of a step: memory, kind, type, invocations, elements, numbers before and after. */
  accesses(at) {
    return this.steps[at][5].map(([memory, kind, type, count, who, elements, before, after]) => ({
      memory, kind, type, who: numbers("i32", who, count), elements: numbers("i32", elements, count),
      before: numbers(type, before, count), after: numbers(type, after, count),
    }));
  }
  /** Bring the memories to their contents after a step. */
  go(at) {
    while (this.at < at) this.forward(++this.at);
    while (this.at > at) this.backward(this.at--);
  }
  forward(at) {
    for (const access of this.accesses(at)) {
      const state = this.state[access.memory];
      if (access.kind !== READ) (this.earlier[at] ??= []).push([access.elements.map((which) => state.writers[which]), access.elements.map((which) => state.who[which])]);
      access.elements.forEach((which, index) => {
        state.values[which] = access.after[index];
        state.types[which] = access.type;
        if (access.kind !== READ) { state.writers[which] = at; state.who[which] = access.who[index]; }
      });
    }
  }
  backward(at) {
    for (const access of this.accesses(at).reverse()) {
      if (access.kind === READ) continue;
      const state = this.state[access.memory], [writers, who] = this.earlier[at].pop();
      for (let index = access.elements.length - 1; index >= 0; --index) {
        const which = access.elements[index];
        // Shared memory has no value before its first write.
        state.values[which] = writers[index] < 0 && this.memories[access.memory].kind === "shared memory" ? null : access.before[index];
        state.writers[which] = writers[index]; state.who[which] = who[index];
      }
    }
  }
  laneName(lane) {
    if (lane < 0) return "another workgroup";
    return this.subgroups.length > 1 ? `subgroup ${this.subgroup[lane]} lane ${this.lane[lane]}` : `lane ${this.lane[lane]}`;
  }
  find(local) { return local ? this.local.findIndex((each) => each.join() === local.join()) : -1; }
}

const traces = data.traces.map((raw) => new Trace(raw));
let trace, at = 0, chosen = 0, file = 0, cells = [], rows = [], first = -1, follows = true;
