import type { Mending } from './mendings.ts';

type Fields = Record<string, unknown>;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : []);

/** The original takes the texts of degraded nodes from two places and so names most nodes twice, and some never. */
const degradedTexts: Mending = ({ fn }, { expected, actual }) =>
  fn === 'node-status' || fn === 'node-sync'
    ? { expected: withoutTexts(expected), actual: withoutTexts(actual) }
    : { expected, actual };

function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (!isObject(value)) return value;
  if (value.type === 'NodeDegraded' || value.type === 'Degraded') {
    const { message: _message, reason: _reason, ...rest } = value;
    // The time says whether the status changed, or only the text.
    return rest;
  }
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutTexts(field)]));
}

/** A pool is woken once for a change, and also by a node that leaves it for none or for two custom pools. */
const wakeups: Mending = ({ fn }, { expected, actual }) => {
  if (fn !== 'node-event' || !isObject(expected) || !isObject(actual)) return { expected, actual };
  const [theirs, ours] = [new Set(listOf(expected.enqueued)), new Set(listOf(actual.enqueued))];
  return {
    expected: { missing: [] },
    actual: { missing: [...theirs].filter((name) => !ours.has(name)), ...tooMany(theirs, ours) },
  };
};

/** Waking more than the original is right only where it wakes nobody. */
const tooMany = (theirs: ReadonlySet<string>, ours: ReadonlySet<string>) =>
  theirs.size > 0 && ours.size > theirs.size ? { unexpected: [...ours] } : {};

/** A node that booted into a pool whose selector says no labels is a candidate like any other. */
const bootPoolWithoutLabels: Mending = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'node-sync' || !isObject(expected) || !isObject(actual)) return { expected, actual };
  const selectorless = (input.pools as Fields[]).some((pool) => !isObject(pool.spec) || !pool.spec.nodeSelector);
  const dropped = listOf(expected.targetOrder).length === 0 && listOf(actual.targetOrder).length > 0;
  if (!selectorless || !dropped) return { expected, actual };
  const { poolStatusChanges: theirs } = expected;
  const { poolStatusChanges: ours } = actual;
  return { expected: { theirs }, actual: { theirs: ours } };
};

export const nodeMendings: readonly Mending[] = [degradedTexts, wakeups, bootPoolWithoutLabels];
