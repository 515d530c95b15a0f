import type { DrainSample, MachineLife, MachineRow, Mark, Segment } from '@mcm/dashboard';

/** The maximum number of segments of all histories, which then use about 30 MB. */
const MOST_SEGMENTS = 100_000;
const KEPT_MS = 6 * 3_600_000;
/** The maximum number of samples of a drain. Above this number, the dashboard removes every second older sample. */
const MOST_DRAIN_SAMPLES = 300;
/**
 * The maximum number of marks of a machine. Above this number, the dashboard removes the oldest marks, and keeps the
 * mark of the creation.
 */
const MOST_MARKS = 100;

interface Life {
  readonly key: string;
  readonly created: number;
  row: MachineRow;
  gone: number;
  successor: string;
  predecessor: string;
  vm: string;
  readonly segments: Segment[];
  readonly marks: Mark[];
  drain: DrainSample[];
}

export interface Remembered {
  readonly row: MachineRow;
  readonly life: MachineLife;
  readonly drain: readonly DrainSample[];
  readonly successor: string;
  readonly predecessor: string;
  readonly vm: string;
}

const MARKS: Readonly<Record<string, string>> = { join: 'VM created', run: 'joined and Ready', delete: 'drained' };

export class Lives {
  readonly #lives = new Map<string, Life>();
  readonly #ofDeployment = new Map<string, Set<Life>>();
  #order: Life[] = [];
  readonly #gone: Life[] = [];
  #dropped = 0;
  readonly #most: number;

  constructor(mostSegments = MOST_SEGMENTS) {
    this.#most = mostSegments;
  }

  get size(): number {
    return this.#order.length - this.#dropped;
  }

  /**
   * Records the new row of a machine.
   * @param isNew false if the machine already existed when the dashboard started
   */
  put(row: MachineRow, now: number, isNew: boolean): void {
    const known = this.#lives.get(row.key);
    if (known !== undefined && known.gone === 0 && known.row.uid === row.uid) {
      this.#update(known, row, now);
      return;
    }
    // If a new machine has the name of a deleted machine, the old history is removed.
    if (known !== undefined) this.#forget(known);
    const life: Life = {
      key: row.key,
      created: row.created,
      row,
      gone: 0,
      successor: '',
      predecessor: '',
      vm: '',
      segments: [],
      marks: [{ at: row.created, text: 'created' }],
      drain: [],
    };
    this.#lives.set(row.key, life);
    const group = `${row.ns}/${row.deployment}`;
    const others = this.#ofDeployment.get(group) ?? new Set();
    if (others.size === 0) this.#ofDeployment.set(group, others);
    others.add(life);
    // If the machine existed before the dashboard started, the dashboard did not observe the start of its state. The
    // time comes from the row.
    const from = isNew ? row.created : Math.min(row.since, now);
    this.#segment(life, { from, stage: row.stage, level: row.level, why: row.why });
  }

  #update(life: Life, row: MachineRow, now: number): void {
    const before = life.row;
    life.row = row;
    if (before.deployment !== row.deployment) this.#regroup(life, before, row);
    if (before.stage !== row.stage) {
      const text =
        row.stage === 'drain' ? 'deletion requested' : before.stage === 'drain' ? 'drained' : MARKS[row.stage];
      if (text !== undefined) mark(life, { at: now, text });
    } else if (before.node === '' && row.node !== '') mark(life, { at: now, text: 'node joined' });
    if (before.stage === row.stage && before.level === row.level && before.why === row.why) return;
    this.#segment(life, { from: now, stage: row.stage, level: row.level, why: row.why });
  }

  #regroup(life: Life, before: MachineRow, row: MachineRow): void {
    this.#ofDeployment.get(`${before.ns}/${before.deployment}`)?.delete(life);
    const group = `${row.ns}/${row.deployment}`;
    this.#ofDeployment.set(group, (this.#ofDeployment.get(group) ?? new Set()).add(life));
  }

  /** Records that a machine was deleted. */
  drop(key: string, now: number): void {
    const life = this.#lives.get(key);
    if (life === undefined || life.gone !== 0) return;
    life.gone = now;
    mark(life, { at: now, text: 'gone' });
    this.#gone.push(life);
    this.#segment(life, { from: now, stage: 'gone', level: life.row.level, why: life.row.why });
  }

  drain(key: string, sample: DrainSample): void {
    const life = this.#lives.get(key);
    const last = life?.drain.at(-1);
    if (life === undefined) return;
    if (last?.left === sample.left && String(last.blockers) === String(sample.blockers)) return;
    life.drain.push(sample);
    if (life.drain.length > MOST_DRAIN_SAMPLES) {
      life.drain = life.drain.filter((_, index) => index % 2 === 0 || index > MOST_DRAIN_SAMPLES / 2);
    }
  }

  /** Stores the provider ID of a machine's VM, which the page shows even after the deletion of the machine. */
  hasVm(key: string, providerID: string): void {
    const life = this.#lives.get(key);
    if (life !== undefined && providerID !== '') life.vm = providerID;
  }

  pair(gone: string, next: string): void {
    const [before, after] = [this.#lives.get(gone), this.#lives.get(next)];
    if (before === undefined || after === undefined) return;
    before.successor = next;
    after.predecessor = gone;
  }

  get(key: string): Remembered | undefined {
    const life = this.#lives.get(key);
    if (life === undefined) return undefined;
    const { row, drain, successor, predecessor, vm } = life;
    return { row, life: lifeOf(life), drain, successor, predecessor, vm };
  }

  ofDeployment(ns: string, name: string, most: number): readonly MachineLife[] {
    const all = [...(this.#ofDeployment.get(`${ns}/${name}`) ?? [])];
    return all
      .toSorted((a, b) => a.created - b.created)
      .slice(-most)
      .map(lifeOf);
  }

  expire(now: number): void {
    const first = this.#gone.findIndex(({ gone }) => now - gone <= KEPT_MS);
    const expired = this.#gone.splice(0, first < 0 ? this.#gone.length : first);
    for (const life of expired) this.#forget(life);
  }

  #isCurrent(life: Life): boolean {
    return this.#lives.get(life.key) === life;
  }

  #segment(life: Life, segment: Segment): void {
    life.segments.push(segment);
    this.#order.push(life);
    // If the oldest segment must stay, the function moves it to the end of the list, so several tries can be necessary.
    for (let tries = 0; tries < 4 && this.size > this.#most; tries += 1) this.#dropOldest();
    this.#compact();
  }

  #dropOldest(): void {
    const life = this.#order[this.#dropped];
    this.#dropped += 1;
    if (life === undefined || !this.#isCurrent(life)) return;
    if (life.segments.length > 1) life.segments.shift();
    // The last segment of an existing machine is its current state and must stay.
    else if (life.gone === 0) this.#order.push(life);
    else this.#forget(life);
    if (life.gone !== 0 && life.segments.length === 1) this.#forget(life);
  }

  #compact(): void {
    if (this.#dropped < 1_000 || this.#dropped * 2 < this.#order.length) return;
    this.#order = this.#order.slice(this.#dropped);
    this.#dropped = 0;
  }

  #forget(life: Life): void {
    if (this.#lives.get(life.key) === life) this.#lives.delete(life.key);
    const group = `${life.row.ns}/${life.row.deployment}`;
    const others = this.#ofDeployment.get(group);
    others?.delete(life);
    if (others?.size === 0) this.#ofDeployment.delete(group);
  }
}

function mark({ marks }: Life, next: Mark): void {
  marks.push(next);
  if (marks.length > MOST_MARKS) marks.splice(1, 1);
}

const lifeOf = ({ key, created, gone, segments, marks }: Life): MachineLife => ({
  key,
  created,
  gone,
  segments,
  marks,
});
