import { seededRandom } from '@mcm/kube';
import type { Case } from './battery.ts';
import { asUser, grant } from './requests/as-user.ts';
import { createDraw } from './requests/draw.ts';
import { freshKind } from './requests/fresh-kind.ts';
import type { Kind, Samples } from './requests/kinds.ts';
import type { Schemas } from './requests/schema.ts';
import { isGuarded, type Source } from './requests/source.ts';
import type { Step } from './requests/step.ts';
import { createValid, nextSteps, review } from './requests/steps.ts';

/** With 20 requests, objects affect each other, but one difference hides only few later differences. */
const STEPS = 20;
/**
 * The distance between the random seeds of two fuzz runs. The distance exceeds the number of cases in a run, so that
 * two runs share no case.
 */
const STRIDE = 1_000_003;
/**
 * When kube-apiserver admits objects of these kinds, it reads a cache. A case with one of these kinds has no second
 * kind, because the cache is updated with a random delay.
 */
const ALONE = new Set(['LimitRange', 'ResourceQuota']);

const isStep = (step: Step): boolean => step.request !== undefined;

export const requestsOf = ({ steps }: Case): number => steps.filter(isStep).length;

const FRESH = 0.1;
const AS_USER = 0.05;

/** Creates the fuzz case for a seed and an index. */
export function caseOf(seed: number, index: number, all: readonly Kind[], schemas: Schemas, samples: Samples): Case {
  const draw = createDraw(seededRandom(seed * STRIDE + index));
  const source: Source = { draw, schemas, samples };
  const name = `seed ${seed}, case ${index}`;
  // The cases use all kinds in turn, and a third of the cases use a second kind.
  const first = all[index % all.length] as Kind;
  if (draw.chance(FRESH)) return freshCase(source, name);
  const second = draw.pick(all);
  const kinds = draw.chance(0.3) && !ALONE.has(first.kind) && !ALONE.has(second.kind) ? [first, second] : [first];
  if (draw.chance(AS_USER) && !kinds.some(({ kind }) => ALONE.has(kind))) return userCase(source, name, kinds, all);
  const watched = draw.chance(0.12) && !isGuarded(first);
  const steps: Step[] = [];
  if (watched) {
    const selector = first.namespaced ? '' : '&labelSelector=fuzz=${id}';
    steps.push({ request: `GET ${first.collection}?watch=true${selector}`, watch: 'w' });
  }
  if (draw.chance(0.85)) steps.push(createValid(source, first));
  while (steps.length < STEPS) {
    if (draw.chance(0.01)) steps.push(...review(source, first));
    else steps.push(...nextSteps(source, draw.pick(kinds)));
  }
  if (watched) steps.push({ events: 'w' });
  return { name: `${name}: ${namesOf(kinds)}`, cleanup: cleanupOf(kinds), steps };
}

const namesOf = (kinds: readonly Kind[]): string => kinds.map(({ kind }) => kind).join(', ');

/**
 * Returns the requests that delete the Services of a fuzz case. No controller deletes the Services, and the next case
 * needs their ports and addresses. The fuzzer therefore deletes the Services itself.
 */
const cleanupOf = (kinds: readonly Kind[]): string[] =>
  kinds.filter(({ resource }) => resource === 'services').map(({ collection }) => `DELETE ${collection}`);

/** Returns a case with a new custom kind. */
function freshCase(source: Source, name: string): Case {
  const { steps: first, kinds } = freshKind(source.draw, source.schemas);
  const steps: Step[] = [...first, createValid(source, kinds[0])];
  while (steps.length < STEPS) steps.push(...nextSteps(source, source.draw.pick(kinds)));
  return { name: `${name}: new kind`, steps };
}

/**
 * Returns a case in which a user with few rights sends most of the requests. Half of the user's requests read or write
 * roles.
 */
function userCase(source: Source, name: string, given: readonly Kind[], all: readonly Kind[]): Case {
  const { draw } = source;
  const roles = all.filter(({ kind, namespaced }) => namespaced && /^Role(Binding)?$/.test(kind));
  const kinds = draw.chance(0.5) ? [...given, ...roles] : given;
  const steps: Step[] = [...grant(draw), ...kinds.map((kind) => createValid(source, kind))];
  while (steps.length < STEPS)
    steps.push(...nextSteps(source, draw.pick(kinds)).map((step) => (draw.chance(0.9) ? asUser(step) : step)));
  return { name: `${name}: ${namesOf(kinds)} as a user`, cleanup: cleanupOf(kinds), steps };
}
